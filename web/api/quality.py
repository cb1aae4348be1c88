"""`/api/v1/evaluations` and `/api/v1/feedback`: how good the answers are, measured and as readers said."""

from typing import Literal

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, Field

from folio.quality import EvaluationView, QualityRecords, RatedAnswer
from web.access import needs
from web.api.common import PageQuery, cursor_after, problems, seen_at
from web.context import caller, services
from web.replies import reply

quality_api = APIBlueprint("quality", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="Quality")])


class FeedbackQuery(PageQuery):
    """Which ratings."""

    rating: Literal["1", "-1"] = Field("-1", description="1 for good, -1 for bad.")


class EvaluationPage(BaseModel):
    """Evaluation runs, newest first."""

    items: list[EvaluationView]
    next_cursor: str | None


class RatedPage(BaseModel):
    """Rated answers, newest first."""

    items: list[RatedAnswer]
    next_cursor: str | None


@quality_api.get("/evaluations", responses={200: EvaluationPage, **problems()})
@needs("ask")
def list_evaluations(query: PageQuery) -> Response:
    """List evaluation runs, newest first."""
    items = QualityRecords(services().catalog).evaluations(query.limit, after=seen_at(query.cursor))
    cursor = cursor_after(items, query.limit, lambda item: (item.created_at, item.id))
    return reply(EvaluationPage(items=items, next_cursor=cursor))


@quality_api.get("/feedback", responses={200: RatedPage, **problems()})
@needs("ask")
def list_feedback(query: FeedbackQuery) -> Response:
    """List rated answers, newest first: one's own, or everybody's for an administrator."""
    owner = None if caller().allows("admin") else caller().key_id
    records = QualityRecords(services().catalog)
    rated = records.rated(int(query.rating), query.limit, owner=owner, after=seen_at(query.cursor))
    shown = [item for item in rated if caller().sees(item.collection)]
    cursor = cursor_after(rated, query.limit, lambda item: (item.created_at, item.answer_id))
    return reply(RatedPage(items=shown, next_cursor=cursor))
