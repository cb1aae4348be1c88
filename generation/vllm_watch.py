"""Tells when a vLLM server that still answers its health check has stopped making tokens."""

import time

import httpx
from prometheus_client.parser import text_string_to_metric_families

RUNNING = "vllm:num_requests_running"
PROGRESS = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total")


class WedgeDetector:
    """Watches an engine's own counters.

    Args:
        url: the engine.
        idle_timeout_s: seconds with requests running and no token read or written that count as wedged.
    """

    def __init__(self, url: str, idle_timeout_s: float) -> None:
        self._url = url
        self._idle_timeout_s = idle_timeout_s
        self._tokens = -1.0
        self._progress_at = time.monotonic()

    def is_wedged(self) -> bool:
        """Look once. An engine that does not answer here is not called wedged: it is starting, or its process ended."""
        try:
            page = httpx.get(f"{self._url}/metrics", timeout=5)
            page.raise_for_status()
        except httpx.HTTPError:
            self._progress_at = time.monotonic()
            return False
        values = {
            sample.name: sample.value
            for family in text_string_to_metric_families(page.text)
            for sample in family.samples
        }
        tokens = sum(values.get(name, 0.0) for name in PROGRESS)
        if values.get(RUNNING, 0.0) == 0 or tokens != self._tokens:
            self._tokens = tokens
            self._progress_at = time.monotonic()
            return False
        return time.monotonic() - self._progress_at > self._idle_timeout_s
