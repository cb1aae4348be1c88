"""Tells when a vLLM server has stopped making tokens though its process is alive.

Its own counters say so while requests run. A server that seems idle, or no longer answers, may be stuck too: so after
half of the time without any progress it is asked for one token.
"""

import time
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

PROGRESS = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total")
LOOK_TIMEOUT_S = 2.0
PROBE: dict[str, Any] = {"messages": [{"role": "user", "content": "1"}], "max_tokens": 1}


class WedgeDetector:
    """Watches an engine that Folio started.

    Args:
        url: the engine.
        model: the name under which it serves its model.
        idle_timeout_s: seconds without a token read or written that count as wedged, once it has been ready.
        start_timeout_s: seconds that it may take to become ready.
    """

    def __init__(
        self, url: str, model: str, *, idle_timeout_s: float, start_timeout_s: float, api_key: str = ""
    ) -> None:
        self._model = model
        self._idle_timeout_s = idle_timeout_s
        self._start_timeout_s = start_timeout_s
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=LOOK_TIMEOUT_S)
        self._pid: int | None = None
        self._tokens = -1.0
        self._progress_at = 0.0
        self.was_ready = False

    def look(self, pid: int | None) -> str:
        """Look once, which takes a few seconds where the engine hangs.

        Args:
            pid: of the engine's process; a new one starts with a clean slate, None is left alone.

        Returns:
            What is wrong with it, in a sentence; empty when nothing is.
        """
        now = time.monotonic()
        if pid != self._pid:
            self._pid, self._progress_at, self._tokens, self.was_ready = pid, now, -1.0, False
        if pid is None or self._has_progressed():
            return ""
        silent_s = now - self._progress_at
        if not self.was_ready:
            late = silent_s > self._start_timeout_s
            return f"The engine was not ready after {self._start_timeout_s:.0f} s." if late else ""
        if silent_s > self._idle_timeout_s:
            return f"The engine has made no token for {silent_s:.0f} s."
        if silent_s > self._idle_timeout_s / 2:
            self._probe()
        return ""

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _has_progressed(self) -> bool:
        try:
            page = self._http.get("/metrics")
            page.raise_for_status()
        except httpx.HTTPError:
            return False
        tokens = sum(
            sample.value
            for family in text_string_to_metric_families(page.text)
            for sample in family.samples
            if sample.name in PROGRESS
        )
        moved = tokens != self._tokens
        if moved:
            self._tokens, self._progress_at = tokens, time.monotonic()
        self.was_ready = True
        return moved

    def _probe(self) -> None:
        """Ask for a token; whether it was made is seen by the counters."""
        try:
            self._http.post("/v1/chat/completions", json={"model": self._model, **PROBE}).close()
        except httpx.HTTPError:
            return
