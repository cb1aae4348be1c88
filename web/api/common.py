"""What the API's request models share: bounded text, filters, pages of a list, and how problems are documented."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, TypeVar

from flask_openapi3.types import ResponseDict
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from folio.errors import EmptyQuestion, InvalidRequest, QuestionTooLong
from retrieval.passages import Filters
from web.errors import PROBLEM_JSON

Item = TypeVar("Item")


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _without_nul(value: str) -> str:
    if "\x00" in value:
        raise ValueError("must not contain the NUL character")
    return value


def _written_out(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("must be a time as ISO 8601 writes it")
    return value


def in_utc(value: datetime) -> datetime:
    """A time without a zone is taken as UTC."""
    return value if value.tzinfo else value.replace(tzinfo=UTC)


MAX_QUESTION = 20_000  # characters; far beyond any question, and checked before a model or an index is asked
NO_NUL = Field(json_schema_extra={"pattern": r"^[^\u0000]*$"})
NOT_BLANK_PATTERN = r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"
NOT_BLANK = Field(json_schema_extra={"pattern": NOT_BLANK_PATTERN})
Text = Annotated[str, AfterValidator(_without_nul), NO_NUL]
Question = Annotated[
    str,
    AfterValidator(_without_nul),
    Field(json_schema_extra={"pattern": NOT_BLANK_PATTERN, "maxLength": MAX_QUESTION}),
]  # blank and too long have errors of their own: `checked_question`
FullText = Annotated[str, AfterValidator(_without_nul), AfterValidator(_not_blank), NOT_BLANK]
Name = Annotated[Text, Field(min_length=1, max_length=200)]
NewName = Annotated[
    Name, Field(max_length=100, json_schema_extra={"pattern": r"^[^\W_][\w .-]*$"})
]  # as `Collections.create` takes it
Id = Annotated[Text, Field(min_length=1, max_length=64)]
Moment = Annotated[datetime, Field(strict=False), BeforeValidator(_written_out), AfterValidator(in_utc)]


class Body(BaseModel):
    """A JSON request body. A field that does not exist, or has another type, is an error and not guessed at."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FiltersBody(Body):
    """Limits on what may be found. Fields combine with *and*, values of one with *or*; times without a zone are UTC."""

    document_ids: list[Id] = Field(default_factory=list, max_length=1000)
    media_types: list[Name] = Field(default_factory=list, max_length=100)
    languages: list[Name] = Field(default_factory=list, max_length=100)
    tags: list[Name] = Field(default_factory=list, max_length=100)
    uri_prefix: Text = Field("", max_length=2000)
    modified_after: Moment | None = None
    modified_before: Moment | None = None
    metadata: dict[str, Text] = Field(default_factory=dict, max_length=50)

    def to_filters(self) -> Filters:
        """As retrieval takes them."""
        return Filters(
            document_ids=tuple(self.document_ids),
            media_types=tuple(self.media_types),
            languages=tuple(self.languages),
            tags=tuple(self.tags),
            uri_prefix=self.uri_prefix,
            modified_after=self.modified_after,
            modified_before=self.modified_before,
            metadata=self.metadata,
        )


def checked_question(text: str) -> str:
    """The question itself.

    Raises:
        EmptyQuestion: there is nothing in it.
        QuestionTooLong: it has more than `MAX_QUESTION` characters.
    """
    if not text.strip():
        raise EmptyQuestion("Write a question.")
    if len(text) > MAX_QUESTION:
        raise QuestionTooLong(
            f"The question has {len(text)} characters; at most {MAX_QUESTION} are taken. "
            "Shorten it, or add the long text as a document and ask about it."
        )
    return text


class PageQuery(BaseModel):
    """Which part of a list."""

    limit: int = Field(50, ge=1, le=200, description="Most items in the reply.")
    cursor: Text = Field("", max_length=500, description="`next_cursor` of the page before; empty for the first page.")


def cursor_after(items: Sequence[Item], limit: int, place: Callable[[Item], tuple[datetime, str]]) -> str | None:
    """The cursor that leads on from a page of a list ordered by time; None when the page was not full.

    Args:
        place: an item's time and key.
    """
    if len(items) < limit:
        return None
    moment, key = place(items[-1])
    return f"{moment.isoformat()}_{key}"


def seen_at(cursor: str) -> tuple[datetime, str] | None:
    """Time and key of the last item of the page before; None for the first page.

    Raises:
        InvalidRequest: the cursor is none that a list gave.
    """
    if not cursor:
        return None
    moment, _, key = cursor.partition("_")
    try:
        return in_utc(datetime.fromisoformat(moment)), key
    except ValueError as exc:
        raise InvalidRequest("The cursor is not one that this list gave.") from exc


def problems(*statuses: int) -> ResponseDict:
    """OpenAPI entries of the problem replies an operation may give; 400 and the like are added to all."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {status: {"content": {PROBLEM_JSON: schema}} for status in sorted({*COMMON_PROBLEMS, *statuses})}


COMMON_PROBLEMS = (400, 401, 403, 404, 421, 429, 500)
