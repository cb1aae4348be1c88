"""The OpenAI-compatible door: chat completions over a collection, embeddings, models."""
