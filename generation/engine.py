"""The seam to the language model. Its one implementation is the pool of vLLM servers in `generation/pool.py`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from generation.answer import Sampling

Role = Literal["system", "user", "assistant"]


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
    """Tokens as the engine counted them; `cached_tokens` of the prompt came from its prefix cache.

    `thinking_tokens` are those of the completion that were reasoning; 0 where the engine does not tell them apart.
    `queue_ms` is how long the request waited in the engine's queue; 0 where the engine does not tell (it does when
    vLLM runs with `--enable-per-request-metrics`).
    """

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    queue_ms: float = 0.0
    thinking_tokens: int = 0


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
        thinking_tokens: most of them that may be reasoning, for reasoning models; 0 sets no bound of its own.
        top_logprobs: alternatives to report for each token; 0 means no probabilities.
        json_schema: the reply must be JSON of this schema (structured output); None leaves it free.
        affinity: requests with the same value share a prompt prefix and go to the same server unless it is busier.
        cache_salt: requests share the engine's prefix cache only with those of the same salt; empty: with all.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    max_tokens: int
    thinking_tokens: int = 0
    top_logprobs: int = 0
    json_schema: Mapping[str, Any] | None = None
    affinity: str = ""
    cache_salt: str = ""


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
