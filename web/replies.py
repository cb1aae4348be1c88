"""Replies that handlers give: JSON of models and dataclasses, with ETags where a client may keep a copy."""

from typing import Any

from flask import Response, request
from pydantic_core import to_json


def reply(value: Any, status: int = 200, *, etag: str = "", headers: dict[str, str] | None = None) -> Response:
    """A JSON reply. With `etag`, a client that already has this version gets 304 without a body."""
    response = Response(to_json(value, by_alias=True), status, mimetype="application/json")
    response.headers.update(headers or {})
    if etag:
        response.set_etag(etag)
        response.headers["Cache-Control"] = "private, no-cache"
        response.make_conditional(request)
    return response
