"""What an answer in the making sends, in this order: passages, then thinking and tokens, then done or error."""

from dataclasses import dataclass

from folio.errors import FolioError
from generation.answer import Answer, NearestPassage, Sentence


@dataclass(frozen=True)
class PassagesFound:
    """The passages that the model is about to read."""

    passages: tuple[NearestPassage, ...]
    retrieval_ms: float


@dataclass(frozen=True)
class Thinking:
    """A piece of the model's reasoning; sent only when asked for."""

    text: str


@dataclass(frozen=True)
class Token:
    """A piece of the answer's text, already rid of invented citation numbers. The pieces join to the answer."""

    text: str


@dataclass(frozen=True)
class SentenceChecked:
    """A sentence of the answer is complete and has its verdict."""

    sentence: Sentence


@dataclass(frozen=True)
class Done:
    """The whole answer. Its text replaces what was streamed where a check changed it (a late refusal, for one)."""

    answer: Answer


@dataclass(frozen=True)
class Failed:
    """The answer could not be finished."""

    error: FolioError


Event = PassagesFound | Thinking | Token | SentenceChecked | Done | Failed
