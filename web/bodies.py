"""How large a request may be, and that a JSON body is UTF-8 JSON, checked before a handler sees it."""

import json
from typing import Any

from flask import Flask, request
from flask.json.provider import DefaultJSONProvider
from werkzeug.exceptions import BadRequest

from folio.errors import InvalidRequest
from folio.settings import Settings

JSON_BYTES = 2 * 2**20
MAX_FORM_PARTS = 20_000
UPLOADS = ("documents.add_documents",)


class Json(DefaultJSONProvider):
    """Reads `3.0` as the integer that JSON Schema says it is."""

    def loads(self, s: str | bytes, **kwargs: Any) -> Any:
        return super().loads(s, parse_float=_number, **kwargs)


def register_bodies(app: Flask, settings: Settings) -> None:
    """Install the checks. Call after `register_access`, so that strangers can't make the server read large bodies."""
    app.config["MAX_FORM_PARTS"] = MAX_FORM_PARTS
    app.json = Json(app)

    def check_body() -> None:
        uploading = request.endpoint in UPLOADS
        request.max_content_length = settings.max_upload_mib * 2**20 if uploading else JSON_BYTES
        if request.is_json and request.method in ("POST", "PUT", "PATCH"):
            _parse_json()

    app.before_request(check_body)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _parse_json() -> None:
    try:
        parsed = request.get_json()
        if b"\\ud" in request.get_data().lower():  # a surrogate escape; half a pair can't be written as UTF-8
            json.dumps(parsed, ensure_ascii=False).encode()
    except RecursionError as exc:
        raise InvalidRequest("The JSON body is nested too deeply.") from exc
    except (BadRequest, UnicodeEncodeError) as exc:
        raise InvalidRequest("The body is not valid UTF-8 JSON.") from exc
