"""What is known of Folio's quality: evaluation runs, and answers that readers rated. Read for the quality page."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Answer, Collection, EvaluationRun, Feedback


class EvaluationView(BaseModel):
    """The figures of one `folio eval`. `kind` is `retrieval` or `answers`."""

    id: str
    kind: str
    dataset: str
    settings: dict[str, Any]
    figures: dict[str, Any]
    created_at: datetime


class RatedAnswer(BaseModel):
    """An answer with what its reader said; `rating` is 1 or -1."""

    answer_id: str
    question: str
    answer: str
    language: str
    refused: bool
    collection: str
    owner: str
    rating: int
    comment: str
    created_at: datetime


class QualityRecords:
    """The records of a catalog, newest first."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def evaluations(self, limit: int) -> list[EvaluationView]:
        """The latest evaluation runs."""
        query = select(EvaluationRun).order_by(EvaluationRun.created_at.desc(), EvaluationRun.id).limit(limit)
        with self._catalog.read() as session:
            return [EvaluationView.model_validate(row, from_attributes=True) for row in session.scalars(query)]

    def rated(self, rating: int, limit: int, *, owner: str | None) -> list[RatedAnswer]:
        """The latest answers with this rating; `owner` None means everybody's."""
        query = (
            select(Feedback, Answer, Collection.name)
            .join(Answer, Answer.id == Feedback.answer_id)
            .join(Collection, Collection.id == Answer.collection_id)
            .where(Feedback.rating == rating)
            .order_by(Feedback.created_at.desc(), Feedback.id)
            .limit(limit)
        )
        if owner is not None:
            query = query.where(Answer.owner == owner)
        with self._catalog.read() as session:
            return [_rated(*row) for row in session.execute(query)]


def _rated(feedback: Feedback, answer: Answer, collection: str) -> RatedAnswer:
    return RatedAnswer(
        answer_id=answer.id,
        question=answer.question,
        answer=answer.answer,
        language=answer.language,
        refused=answer.refused,
        collection=collection,
        owner=answer.owner,
        rating=feedback.rating,
        comment=feedback.comment,
        created_at=feedback.created_at,
    )
