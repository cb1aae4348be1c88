"""`/api/v1/answers`: an answer's receipt (how it was made), its replay, and what readers say of it."""

from typing import Literal

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, ConfigDict, Field

from folio.errors import NotFound
from generation.receipts import Receipt
from web.access import needs
from web.api.common import Body, Id, Text, problems
from web.api.described import json_of
from web.context import caller, services
from web.replies import reply

answers_api = APIBlueprint("answers", __name__, url_prefix="/api/v1/answers", abp_tags=[Tag(name="Answers")])


class AnswerPath(BaseModel):
    """An answer's id."""

    answer_id: Id


class FeedbackBody(Body):
    """What a reader says of an answer."""

    model_config = ConfigDict(json_schema_extra={"example": {"rating": -1, "comment": "The year is wrong."}})

    rating: Literal[1, -1] = Field(description="1 for good, -1 for bad.")
    comment: Text = Field("", max_length=2000)


@answers_api.get("/<answer_id>", responses={200: json_of(Receipt), **problems()})
@needs("ask")
def get_answer(path: AnswerPath) -> Response:
    """An answer's receipt: passages with scores, the prompt by parts, timings, tokens, verdicts."""
    return reply(_own_receipt(path.answer_id))


@answers_api.put("/<answer_id>/feedback", responses={204: None, **problems(413, 415)})
@needs("ask")
def rate(path: AnswerPath, body: FeedbackBody) -> Response:
    """Say whether an answer was good; a later word replaces an earlier one."""
    _own_receipt(path.answer_id)
    services().feedback.rate(path.answer_id, body.rating, body.comment)
    return Response(status=204)


def _own_receipt(answer_id: str) -> Receipt:
    missing = NotFound(f"There is no answer {answer_id!r}.")
    try:
        receipt = services().receipts.get(answer_id)
    except NotFound as exc:
        raise missing from exc
    if not (caller().owns(receipt.owner) and caller().sees(receipt.collection)):
        raise missing
    return receipt
