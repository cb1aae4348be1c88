"""`/api/v1/evaluations` and `/api/v1/feedback`: how good the answers are, measured and as readers said."""

from typing import Literal

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, Field

from folio.quality import QualityRecords
from web.access import needs
from web.api.common import problems
from web.context import caller, services
from web.replies import reply

quality_api = APIBlueprint("quality", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="Quality")])


class EvaluationsQuery(BaseModel):
    """How many runs."""

    limit: int = Field(50, ge=1, le=200)


class FeedbackQuery(BaseModel):
    """Which ratings."""

    rating: Literal["1", "-1"] = Field("-1", description="1 for good, -1 for bad.")
    limit: int = Field(50, ge=1, le=200)


@quality_api.get("/evaluations", responses={200: {"content": {"application/json": {}}}, **problems()})
@needs("ask")
def list_evaluations(query: EvaluationsQuery) -> Response:
    """List evaluation runs, newest first."""
    return reply({"items": QualityRecords(services().catalog).evaluations(query.limit)})


@quality_api.get("/feedback", responses={200: {"content": {"application/json": {}}}, **problems()})
@needs("ask")
def list_feedback(query: FeedbackQuery) -> Response:
    """List rated answers, newest first: one's own, or everybody's for an administrator."""
    owner = None if caller().allows("admin") else caller().key_id
    rated = QualityRecords(services().catalog).rated(int(query.rating), query.limit, owner=owner)
    return reply({"items": [item for item in rated if caller().sees(item.collection)]})
