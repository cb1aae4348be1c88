"""The seam to the language model, and the pool of vLLM servers behind it.

Folio knows an engine only as an OpenAI-compatible vLLM server at a URL: one it started, or any that exist. Several
URLs form a pool: the least loaded answers, with a preference for the one whose prefix cache knows the conversation.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from folio.errors import EngineNotReady, Unavailable
from generation.answer import Sampling

if TYPE_CHECKING:
    from generation.endpoint import Endpoint

T = TypeVar("T")
Role = Literal["system", "user", "assistant"]
REST_AFTER_FAILURE_S = 2.0
RETRY_AFTER_S = 5


@dataclass(frozen=True)
class Message:
    """One turn of a chat."""

    role: Role
    content: str


@dataclass(frozen=True)
class Alternative:
    """A token the model might have written, with its natural-log probability."""

    token: str
    logprob: float


@dataclass(frozen=True)
class TokenLogprob:
    """A token the model wrote and the likeliest at its place, itself included."""

    token: str
    logprob: float
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True)
class EngineUsage:
    """Tokens as the engine counted them; `cached_tokens` of the prompt came from its prefix cache."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class EngineToken:
    """A piece of the stream: text of the answer or of the model's thinking; the last pieces carry reason and usage."""

    text: str = ""
    thinking: str = ""
    logprobs: tuple[TokenLogprob, ...] = ()
    finish_reason: str | None = None
    usage: EngineUsage | None = None


@dataclass(frozen=True)
class EngineHealth:
    """How the engine is. `kv_cache_usage` is a share from 0 to 1; counts are over all servers of the pool."""

    ready: bool
    state: Literal["starting", "ready", "failed"]
    detail: str = ""
    model: str = ""
    max_model_len: int | None = None
    running: int | None = None
    waiting: int | None = None
    kv_cache_usage: float | None = None


@dataclass(frozen=True)
class GenerationRequest:
    """What to generate.

    Args:
        max_tokens: most tokens to write, thinking included.
        top_logprobs: alternatives to report for each token; 0 means no probabilities.
        json_schema: the reply must be JSON of this schema (structured output); None leaves it free.
        affinity: requests with the same value share a prompt prefix and go to the same server when it is not busier.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    max_tokens: int
    top_logprobs: int = 0
    json_schema: Mapping[str, Any] | None = None
    affinity: str = ""


class Engine(Protocol):
    """A chat model that streams. Errors are `EngineNotReady` (nothing was written yet) and `EngineFailed`."""

    def health(self) -> EngineHealth:
        """How it is now; never raises."""

    def context_length(self) -> int:
        """Tokens that prompt and answer may have together."""

    def model_name(self) -> str:
        """The name under which the model is served."""

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat in the model's own template, the opening of the reply included."""

    def count_text(self, text: str) -> int:
        """Tokens of a text alone."""

    def stream_chat(self, request: GenerationRequest) -> Iterator[EngineToken]:
        """Generate; closing the iterator aborts the generation in the engine."""

    def close(self) -> None:
        """Close the connections."""


class VllmEngine:
    """A pool of vLLM servers; cheap to build, reached at its first use.

    Args:
        urls: base addresses, with or without `/v1`. None at all is an engine that is never ready.
        model: served model name; empty takes the first that the server lists.
        idle_timeout_s: seconds without a token after which a generation counts as wedged.
    """

    def __init__(
        self, urls: Sequence[str], *, model: str = "", api_key: str = "", idle_timeout_s: float = 120.0
    ) -> None:
        from generation.endpoint import Endpoint

        self._endpoints = tuple(Endpoint(url, model, api_key, idle_timeout_s) for url in urls)
        self._resting: dict[str, float] = {}
        self._lock = threading.Lock()

    def health(self) -> EngineHealth:
        """The best state among the servers, with their requests added up."""
        if not self._endpoints:
            return EngineHealth(False, "starting", "No engine is running. Start `folio serve` or set FOLIO_ENGINE_URL.")
        states = [endpoint.health() for endpoint in self._endpoints]
        best = next((s for s in states if s.ready), states[0])
        return EngineHealth(
            ready=best.ready,
            state=best.state,
            detail=best.detail,
            model=best.model,
            max_model_len=best.max_model_len,
            running=sum(s.running or 0 for s in states),
            waiting=sum(s.waiting or 0 for s in states),
            kv_cache_usage=max((s.kv_cache_usage or 0.0 for s in states if s.ready), default=None),
        )

    def context_length(self) -> int:
        """The shortest context window of the pool's servers that answer."""
        return self._first(lambda endpoint: endpoint.served().max_model_len)

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
            EngineFailed: the server stopped, or fell silent, in mid-answer.
        """
        refusal: Unavailable | None = None
        for endpoint in self._by_preference(request.affinity):
            started = False
            try:
                for token in endpoint.stream(request):
                    started = True
                    yield token
                return
            except Unavailable as exc:
                self._rest(endpoint.url)
                if started:
                    raise
                refusal = exc
        raise refusal or self._nobody()

    def close(self) -> None:
        """Close the connections to all servers."""
        for endpoint in self._endpoints:
            endpoint.close()

    def _first(self, call: "Callable[[Endpoint], T]") -> T:
        refusal: Unavailable | None = None
        for endpoint in self._by_preference(""):
            try:
                return call(endpoint)
            except Unavailable as exc:
                self._rest(endpoint.url)
                refusal = exc
        raise refusal or self._nobody()

    def _by_preference(self, affinity: str) -> "list[Endpoint]":
        """Servers to try, in order: rested ones first, the least loaded first, ties by affinity."""
        now = time.monotonic()
        with self._lock:
            resting = {url for url, until in self._resting.items() if until > now}
        return sorted(
            self._endpoints,
            key=lambda e: (e.url in resting, e.in_flight, hash((affinity, e.url)) if affinity else 0),
        )

    def _rest(self, url: str) -> None:
        with self._lock:
            self._resting[url] = time.monotonic() + REST_AFTER_FAILURE_S

    def _nobody(self) -> EngineNotReady:
        return EngineNotReady(self.health().detail or "No engine is running.", retry_after_s=RETRY_AFTER_S)
