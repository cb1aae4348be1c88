"""The answer as users see it, and the request that asks for it: the public contract, told in `docs/api.md`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from folio.addresses import ShownAddress
from retrieval.passages import Filters


class Sampling(BaseModel):
    """How tokens are drawn. Temperature 0 takes the likeliest token each time."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    temperature: float = Field(0.0, ge=0, le=2)
    top_p: float = Field(1.0, gt=0, le=1)
    top_k: int = Field(0, ge=0, description="0 means no limit.")
    min_p: float = Field(0.0, ge=0, le=1)
    max_tokens: int | None = Field(None, ge=1, le=8192)
    seed: int | None = Field(None, ge=-(2**53), le=2**53)
    stop: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list, max_length=4)


@dataclass(frozen=True)
class Turn:
    """An earlier question with its answer."""

    question: str
    answer: str


class AskRequest(BaseModel):
    """A question with everything that shapes its answer."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    question: str
    collection: str = "default"
    conversation_id: str | None = None
    top_k: int | None = Field(None, ge=1, le=50)
    filters: Filters = Field(default_factory=Filters)
    sampling: Sampling = Field(default_factory=Sampling)
    thinking: Literal["hide", "show"] = "hide"
    mode: Literal["answer", "agent"] = "answer"
    logprobs: bool = Field(False, description="Keep each token's probability and alternatives in the receipt.")
    owner: str = ""
    history: tuple[Turn, ...] = Field((), description="Earlier turns that the client keeps itself, oldest first.")


class Citation(BaseModel):
    """The exact span that supports a sentence: `quote == document.text[start:end]`."""

    n: int
    document_id: str
    document_version: int
    title: str
    uri: ShownAddress
    media_type: str
    page: int | None
    start: int
    end: int
    quote: str
    score: float
    passage_start: int
    passage_end: int


class Sentence(BaseModel):
    """A sentence of the answer with its verdict. `start`/`end` are characters of `Answer.answer`."""

    text: str
    start: int
    end: int
    citations: list[int]
    supported: bool
    reason: str = Field("", description="Why it is not supported, in a few words; empty when it is.")


class Usage(BaseModel):
    """Tokens, as the engine counted them."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    thinking_tokens: int = 0


class Timing(BaseModel):
    """Milliseconds. `ttft_ms` runs from the arrival of the question to the first token handed to the client."""

    retrieval_ms: float = 0
    queue_ms: float = 0
    ttft_ms: float = 0
    total_ms: float = 0


class NearestPassage(BaseModel):
    """A passage offered with a refusal, or shown while the answer is made."""

    n: int
    document_id: str
    title: str
    uri: ShownAddress
    media_type: str
    page: int | None
    start: int
    end: int
    text: str
    heading_path: list[str]
    score: float


class Answer(BaseModel):
    """A finished answer."""

    answer_id: str
    conversation_id: str | None = None
    question: str
    collection: str
    language: str
    answer: str
    refused: bool
    citations: list[Citation]
    sentences: list[Sentence]
    passages: list[NearestPassage] = Field(default_factory=list, description="What the model was shown, by rank.")
    thinking: str | None = None
    usage: Usage
    timing: Timing
    model: str
