"""The Flask front: pages, REST, and the OpenAI-compatible door."""
