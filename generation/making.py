"""One answer while it is made: what is known so far, filled in step by step by `generation.answering`."""

import time
from dataclasses import dataclass, field

from generation.answer import AskRequest, NearestPassage, Turn
from generation.draft import Draft
from generation.engine import EngineUsage, TokenLogprob
from generation.prompt import NumberedPassage, Prompt
from generation.receipts import AgentStep
from retrieval.passages import SearchResult


@dataclass
class Making:
    """Times are in milliseconds since the question arrived (`started`, a `perf_counter` reading)."""

    request: AskRequest
    collection_id: str
    language: str
    started: float
    search_query: str = ""
    history: tuple[Turn, ...] = ()
    before: list[NearestPassage] = field(default_factory=list)
    found: SearchResult | None = None
    numbered: tuple[NumberedPassage, ...] = ()
    prompt: Prompt | None = None
    draft: Draft | None = None
    steps: list[AgentStep] = field(default_factory=list)
    thinking: str = ""
    thinking_pieces: int = 0
    raw: str = ""
    logprobs: list[TokenLogprob] = field(default_factory=list)
    usage: EngineUsage = field(default_factory=lambda: EngineUsage(0, 0, 0))
    finish_reason: str = ""
    queue_ms: float = 0.0
    retrieval_ms: float = 0.0
    first_token_ms: float = 0.0
    ttft_ms: float = 0.0

    def elapsed_ms(self) -> float:
        """Milliseconds since the question arrived."""
        return (time.perf_counter() - self.started) * 1000
