"""What is known of Folio's quality: evaluation runs, and answers that readers rated. Read for the quality page."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, and_, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from folio.catalog import Catalog
from folio.catalog.models import Answer, Collection, EvaluationRun, Feedback

Seen = tuple[datetime, str]


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

    def evaluations(self, limit: int, *, after: Seen | None = None) -> list[EvaluationView]:
        """The latest evaluation runs; `after`: time and id of the last one already seen."""
        query = select(EvaluationRun).order_by(EvaluationRun.created_at.desc(), EvaluationRun.id).limit(limit)
        query = query.where(_follows(EvaluationRun.created_at, EvaluationRun.id, after))
        with self._catalog.read() as session:
            return [EvaluationView.model_validate(row, from_attributes=True) for row in session.scalars(query)]

    def rated(self, rating: int, limit: int, *, owner: str | None, after: Seen | None = None) -> list[RatedAnswer]:
        """The latest answers with this rating; `owner` None means everybody's, `after` the last one already seen."""
        query = (
            select(Feedback, Answer, Collection.name)
            .join(Answer, Answer.id == Feedback.answer_id)
            .join(Collection, Collection.id == Answer.collection_id)
            .where(Feedback.rating == rating)
            .order_by(Feedback.created_at.desc(), Feedback.answer_id)
            .limit(limit)
        )
        if owner is not None:
            query = query.where(Answer.owner == owner)
        query = query.where(_follows(Feedback.created_at, Feedback.answer_id, after))
        with self._catalog.read() as session:
            return [_rated(*row) for row in session.execute(query)]


def _follows(
    moment: InstrumentedAttribute[datetime], key: InstrumentedAttribute[str], after: Seen | None
) -> ColumnElement[bool]:
    """What comes after `after` in a list ordered by time, the newest first, then by key."""
    return true() if after is None else or_(moment < after[0], and_(moment == after[0], key > after[1]))


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
