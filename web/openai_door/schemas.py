"""What OpenAI clients send. Parameters that Folio can't honour are refused by name, never ignored in silence."""

import itertools
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from folio.errors import InvalidRequest
from generation.answer import Sampling, Turn
from web.api.common import Body, FiltersBody, FullText, Id, Name, Text, checked_question

MAX_MESSAGES = 500
StopText = Annotated[Text, Field(min_length=1)]


class TextPart(Body):
    """A piece of a message."""

    type: Literal["text", "input_text"]
    text: Text


class ChatMessage(BaseModel):
    """A message. System messages are taken but not used: Folio's own instruction is what makes answers cited."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    role: Literal["system", "developer", "user", "assistant"]
    content: Text | Annotated[list[TextPart], Field(max_length=100)] | None = None

    @property
    def text(self) -> str:
        """The text of all parts."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class StreamOptions(Body):
    """What a stream carries besides the answer."""

    include_usage: bool = False
    include_obfuscation: bool = False


class FolioOptions(Body):
    """Folio's own options, sent as `extra_body={"folio": {...}}`."""

    top_k: int | None = Field(None, ge=1, le=50)
    filters: FiltersBody = FiltersBody()
    thinking: Literal["hide", "show"] = "hide"
    conversation_id: Id | None = None


class ChatBody(Body):
    """A chat completion request: `model` names the collection, the last user message is the question."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"model": "default", "messages": [{"role": "user", "content": "What is a KV cache?"}]}
        }
    )

    model: Name = Field(description="The collection to answer from.", examples=["default"])
    messages: list[ChatMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    temperature: float | None = Field(0.0, ge=0, le=2)
    top_p: float | None = Field(1.0, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1, le=8192)
    max_completion_tokens: int | None = Field(None, ge=1, le=8192)
    seed: int | None = Field(None, ge=-(2**53), le=2**53)
    stop: StopText | Annotated[list[StopText], Field(max_length=4)] | None = None
    n: Literal[1] | None = 1
    frequency_penalty: Annotated[float, Field(ge=0, le=0)] | None = 0.0
    presence_penalty: Annotated[float, Field(ge=0, le=0)] | None = 0.0
    user: Text | None = Field(None, description="Taken and not used.")
    metadata: dict[str, str] | None = Field(None, description="Taken and not used.")
    store: Literal[False] | None = False
    folio: FolioOptions = FolioOptions()

    @property
    def question(self) -> str:
        """The last message's text.

        Raises:
            InvalidRequest: the last message is not the user's.
            EmptyQuestion: it is empty.
            QuestionTooLong: it is longer than any question.
        """
        last = self.messages[-1]
        if last.role != "user":
            raise InvalidRequest("The last message must have the role `user`: it is the question.")
        return checked_question(last.text)

    @property
    def history(self) -> tuple[Turn, ...]:
        """Earlier questions with the answers that follow them."""
        earlier = self.messages[:-1]
        pairs = itertools.pairwise(m for m in earlier if m.role in ("user", "assistant"))
        return tuple(Turn(q.text, a.text) for q, a in pairs if (q.role, a.role) == ("user", "assistant"))

    @property
    def sampling(self) -> Sampling:
        """As generation takes it."""
        stop = [self.stop] if isinstance(self.stop, str) else self.stop
        return Sampling(
            temperature=self.temperature or 0.0,
            top_p=self.top_p or 1.0,
            max_tokens=self.max_completion_tokens or self.max_tokens,
            seed=self.seed,
            stop=stop or [],
        )


class EmbeddingsBody(Body):
    """Texts to embed."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"model": "all-MiniLM-L6-v2", "input": ["KV cache", "键值缓存"]}}
    )

    model: Name = Field(description="The embedding model, as `GET /v1/models` names it.")
    input: FullText | Annotated[list[FullText], Field(min_length=1, max_length=256)]
    encoding_format: Literal["float", "base64"] = "float"
    user: Text | None = Field(None, description="Taken and not used.")

    @property
    def texts(self) -> list[str]:
        """All texts, in order."""
        return [self.input] if isinstance(self.input, str) else self.input
