"""The pool of vLLM servers: one that Folio started, or any that exist.

The server that knows a prompt's prefix answers unless it is clearly busier than the least loaded one. A server that
failed rests for a while; a request goes to another only as long as nothing of its answer has been written.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

from folio import metrics
from folio.errors import EngineNotReady, FolioError, TooManyRequests, Unavailable
from generation.endpoint import Endpoint
from generation.engine import EngineHealth, EngineToken, GenerationRequest, Message

T = TypeVar("T")
REST_AFTER_FAILURE_S = 2.0
RETRY_AFTER_S = 5
# Requests by which the server that knows the prefix may be busier: reading a prompt anew costs about as much as
# waiting for two others.
AFFINITY_SLACK = 2
NO_ENGINE = "No engine is running. Start `folio serve` or set FOLIO_ENGINE_URL."


class VllmEngine:
    """Several vLLM servers as one engine; cheap to build, reached at its first use.

    Args:
        urls: base addresses, with or without `/v1`. None at all is an engine that is never ready.
        model: served model name; empty takes the first that the server lists.
        idle_timeout_s: seconds without a token after which a generation counts as wedged.
        explain: says why the engine is down where its supervisor knows; empty where it does not.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        model: str = "",
        api_key: str = "",
        idle_timeout_s: float = 120.0,
        explain: Callable[[], str] = lambda: "",
    ) -> None:
        self._endpoints = tuple(Endpoint(url, model, api_key, idle_timeout_s) for url in urls)
        self._explain = explain
        self._resting: dict[str, float] = {}
        self._lock = threading.Lock()

    def health(self) -> EngineHealth:
        """The best state among the servers, with their requests added up."""
        found = self._health() if self._endpoints else EngineHealth(False, "failed", NO_ENGINE)
        metrics.ENGINE_READY.set(found.ready)
        metrics.ENGINE_RUNNING.set(found.running or 0)
        metrics.ENGINE_WAITING.set(found.waiting or 0)
        metrics.ENGINE_KV_CACHE_USAGE.set(found.kv_cache_usage or 0)
        return found

    def _health(self) -> EngineHealth:
        states = self._states()
        best = next((s for s in states if s.ready), states[0])
        reason = "" if best.ready else self._explain()
        down = [s.detail for s in states if not s.ready]
        return EngineHealth(
            ready=best.ready,
            state="failed" if reason else best.state,
            detail=reason or (" ".join(down) if best.ready else best.detail),
            model=best.model,
            max_model_len=best.max_model_len,
            running=sum(s.running or 0 for s in states),
            waiting=sum(s.waiting or 0 for s in states),
            kv_cache_usage=min((s.kv_cache_usage or 0.0 for s in states if s.ready), default=None),
        )

    def context_length(self) -> int:
        """The shortest context window of the servers that answer, so that a prompt fits whichever takes it."""
        lengths = [e.served().max_model_len for e in self._endpoints if e.known]
        return min(lengths) if lengths else self._first(lambda endpoint: endpoint.served().max_model_len)

    def model_name(self) -> str:
        """The served model's name."""
        return self._first(lambda endpoint: endpoint.served().name)

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Tokens by the served model's template and tokenizer."""
        return self._first(lambda endpoint: endpoint.count_messages(messages))

    def count_text(self, text: str) -> int:
        """Tokens by the served model's tokenizer."""
        return self._first(lambda endpoint: endpoint.count_text(text))

    def stream_chat(self, request: GenerationRequest) -> Iterator[EngineToken]:
        """Generate on one server; another is tried only while nothing has been written.

        Raises:
            EngineNotReady: no server took the request.
            TooManyRequests: those that answer have full queues.
            EngineFailed: the server stopped, or fell silent, in mid-answer.
            Cancelled: the reader has left.
        """
        refusal: FolioError | None = None
        for endpoint in self._by_preference(request.affinity):
            started = False
            try:
                with closing(endpoint.stream(request)) as stream:
                    for token in stream:
                        started = True
                        yield token
                return
            except (Unavailable, TooManyRequests) as exc:
                self._rest(endpoint)
                if started:
                    raise
                refusal = exc
        raise refusal or self._nobody()

    def close(self) -> None:
        """Close the connections to all servers."""
        for endpoint in self._endpoints:
            endpoint.close()

    def _states(self) -> list[EngineHealth]:
        """Asked side by side, so that one that hangs does not hold up the others' figures."""
        if len(self._endpoints) == 1:
            return [self._endpoints[0].health()]
        with ThreadPoolExecutor(len(self._endpoints)) as asking:
            states = list(asking.map(Endpoint.health, self._endpoints))
        for endpoint, state in zip(self._endpoints, states, strict=True):
            if not state.ready:
                self._rest(endpoint)
        return states

    def _first(self, call: Callable[[Endpoint], T]) -> T:
        refusal: Unavailable | None = None
        for endpoint in self._by_preference(""):
            try:
                return call(endpoint)
            except Unavailable as exc:
                self._rest(endpoint)
                refusal = exc
        raise refusal or self._nobody()

    def _by_preference(self, affinity: str) -> list[Endpoint]:
        """Servers to try, in order: those that rest last, the one that knows the prefix first, then by load."""
        now = time.monotonic()
        with self._lock:
            resting = {url for url, until in self._resting.items() if until > now}
        loads = {e.url: e.load for e in self._endpoints}
        least = min((load for url, load in loads.items() if url not in resting), default=0)
        favourite = max(self._endpoints, key=lambda e: _rank(affinity, e.url)).url if affinity else ""

        def order(endpoint: Endpoint) -> tuple[bool, bool, int]:
            load = loads[endpoint.url]
            knows = endpoint.url == favourite and load <= least + AFFINITY_SLACK
            return endpoint.url in resting, not knows, load

        return sorted(self._endpoints, key=order)

    def _rest(self, endpoint: Endpoint) -> None:
        with self._lock:
            self._resting[endpoint.url] = time.monotonic() + REST_AFTER_FAILURE_S

    def _nobody(self) -> EngineNotReady:
        return EngineNotReady(self.health().detail or NO_ENGINE, retry_after_s=RETRY_AFTER_S)


def _rank(affinity: str, url: str) -> bytes:
    """Rendezvous hashing: the same in every process, and a server that comes or goes moves only its own share."""
    return hashlib.blake2b(f"{affinity}\n{url}".encode(), digest_size=8).digest()
