"""Receipts: for every answer, all that shaped it, so that it can be looked at and made again."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Answer as AnswerRow
from folio.catalog.models import Collection, Conversation
from folio.catalog.withdrawal import hold_collection, withdraw_deleted
from folio.errors import NotFound
from generation.answer import Answer, Sampling


class PromptMessage(BaseModel):
    """A turn of the chat as the model got it."""

    role: str
    content: str


class PassageScores(BaseModel):
    """A passage's number, place and scores at the time."""

    n: int
    rank: int
    document_id: str
    document_version: int
    start: int
    end: int
    chunk_ids: list[int]
    score: float
    scores: dict[str, float | int | None]


class TokenProbability(BaseModel):
    """A token that the model wrote and the likeliest at its place."""

    token: str
    logprob: float
    alternatives: dict[str, float]


class AgentStep(BaseModel):
    """A tool that the model called in agent mode."""

    tool: str
    arguments: dict[str, Any]
    result: str
    milliseconds: float


class Receipt(BaseModel):
    """How an answer was made. `prompt_tokens_by_part` is in tokens of the served model."""

    answer: Answer
    owner: str
    collection: str
    created_at: datetime | None = None
    search_query: str
    index_generation: str
    weights: dict[str, float]
    passages: list[PassageScores]
    prompt: list[PromptMessage]
    prompt_tokens_by_part: dict[str, int]
    dropped_passages: int
    dropped_turns: int
    sampling: Sampling
    max_tokens: int
    raw: str = Field(description="What the model wrote, before checks.")
    finish_reason: str
    refusal_probability: float
    refusal_threshold: float
    signals: dict[str, float]
    logprobs: list[TokenProbability] = Field(default_factory=list)
    steps: list[AgentStep] = Field(default_factory=list)


class Receipts:
    """The receipts of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def get(self, answer_id: str) -> Receipt:
        """A receipt.

        Raises:
            NotFound: there is no such answer.
        """
        with self._catalog.read() as session:
            row = session.execute(
                select(AnswerRow.receipt, AnswerRow.owner, Collection.name, AnswerRow.created_at)
                .join(Collection, Collection.id == AnswerRow.collection_id)
                .where(AnswerRow.id == answer_id)
            ).one_or_none()
        if row is None:
            raise NotFound(f"There is no answer {answer_id!r}.")
        stored, owner, collection, created_at = row
        return Receipt.model_validate({**stored, "owner": owner, "collection": collection, "created_at": created_at})

    def store(self, receipt: Receipt, collection_id: str) -> Receipt:
        """Keep a receipt; as it was kept, without what belongs to documents deleted while the answer was made.

        Raises:
            NotFound: its collection or conversation was deleted meanwhile.
        """
        answer = receipt.answer
        row = AnswerRow(
            id=answer.answer_id,
            collection_id=collection_id,
            conversation_id=answer.conversation_id,
            owner=receipt.owner,
            question=answer.question,
            rewritten_question=receipt.search_query if receipt.search_query != answer.question else "",
            language=answer.language,
            answer=answer.answer,
            refused=answer.refused,
            model=answer.model,
            receipt=receipt.model_dump(mode="json", exclude={"owner", "collection", "created_at"}),
        )
        with self._catalog.write() as session:
            hold_collection(session, collection_id)
            if answer.conversation_id and session.get(Conversation, answer.conversation_id) is None:
                raise NotFound("The conversation was deleted while the answer was made, and the answer with it.")
            withdraw_deleted(session, row)
            session.add(row)
            kept = {**row.receipt, "owner": receipt.owner, "collection": receipt.collection}
        return Receipt.model_validate({**kept, "created_at": receipt.created_at})
