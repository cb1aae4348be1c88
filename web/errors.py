"""The one place where an error becomes an HTTP reply: RFC 9457 problem details, with a stable `code`.

Own errors carry a message written for the reader. Anything else is logged with its trace; the reply has its request id.
"""

import json
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, g, request
from pydantic import BaseModel, Field, ValidationError
from werkzeug.exceptions import HTTPException

from folio.errors import (
    AccessDenied,
    ConfigurationError,
    Conflict,
    EmbedderMismatch,
    EmptyQuestion,
    EngineFailed,
    EngineNotReady,
    FolioError,
    Forbidden,
    IngestError,
    IntegrityError,
    InvalidRequest,
    ModelMissing,
    NotFound,
    QuestionTooLong,
    StreamGone,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)
from folio.log import get_logger

log = get_logger(__name__)
PROBLEM_JSON = "application/problem+json"

# An ingestion error is stored with its file and reaches nobody through HTTP; its row is for one that slips through.
STATUS: dict[type[FolioError], HTTPStatus] = {
    FolioError: HTTPStatus.INTERNAL_SERVER_ERROR,
    InvalidRequest: HTTPStatus.BAD_REQUEST,
    EmptyQuestion: HTTPStatus.BAD_REQUEST,
    QuestionTooLong: HTTPStatus.BAD_REQUEST,
    Conflict: HTTPStatus.CONFLICT,
    EmbedderMismatch: HTTPStatus.CONFLICT,
    NotFound: HTTPStatus.NOT_FOUND,
    StreamGone: HTTPStatus.GONE,
    AccessDenied: HTTPStatus.FORBIDDEN,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    EngineNotReady: HTTPStatus.SERVICE_UNAVAILABLE,
    EngineFailed: HTTPStatus.SERVICE_UNAVAILABLE,
    ConfigurationError: HTTPStatus.INTERNAL_SERVER_ERROR,
    ModelMissing: HTTPStatus.INTERNAL_SERVER_ERROR,
    IngestError: HTTPStatus.UNPROCESSABLE_ENTITY,
    IntegrityError: HTTPStatus.INTERNAL_SERVER_ERROR,
}

# What HTTP itself can refuse, with the code that users may rely on and a sentence that says what to do.
HTTP_PROBLEMS: dict[int, tuple[str, str]] = {
    400: ("invalid_request", "The request could not be read. Check that it is well-formed HTTP."),
    404: ("not_found", "There is nothing at this address. /docs lists every address."),
    405: ("method_not_allowed", "This address does not take that method. The `Allow` header names those it takes."),
    406: ("not_acceptable", "The reply can't be given in the form asked for."),
    412: ("precondition_failed", "It has changed since the ETag you sent. Read it again first."),
    413: ("too_large", "The request is larger than this server takes."),
    414: ("uri_too_long", "The address is too long."),
    415: ("unsupported_media_type", "Send this request with `Content-Type: application/json`."),
    416: ("range_not_satisfiable", "The requested range lies outside the file."),
    421: ("wrong_host", "This server does not answer to that host name."),
    429: ("too_many_requests", "Too many requests."),
    431: ("headers_too_large", "The headers are too large."),
}
DEFAULT_RETRY_AFTER_S = 5
OF_THE_MACHINE = (ConfigurationError, IntegrityError)  # their messages are for who runs it, and may name its folders


class InvalidField(BaseModel):
    """One part of a request that is not valid."""

    field: str = Field(description="Where, as a dotted path.")
    message: str


class Problem(BaseModel):
    """Problem details as in RFC 9457."""

    type: str = Field(description="Address of a page about this kind of problem, relative to the server.")
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable; programs may rely on it.")
    request_id: str = Field(description="Quote it when reporting; the server's log has it too.")
    retry_after_s: int | None = Field(None, description="Seconds after which trying again makes sense.")
    errors: list[InvalidField] | None = Field(None, description="Each invalid part of the request.")


class NotAcceptedByHttp(FolioError):
    """A request that HTTP itself refuses with `status`, one of `HTTP_PROBLEMS`."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message or HTTP_PROBLEMS[status][1])
        self.status = status


def status_of(error: FolioError) -> int:
    """The HTTP status of an error: its own row, or that of its nearest ancestor."""
    if isinstance(error, NotAcceptedByHttp):
        return error.status
    return int(next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS))


def problem_of(error: FolioError, request_id: str = "") -> Problem:
    """An own error as problem details; `request_id` where there is no request any more, as inside a stream.

    What an error says of the machine goes to the log, and not to the reader.
    """
    status = status_of(error)
    if isinstance(error, NotAcceptedByHttp):
        code, title = HTTP_PROBLEMS[status][0], HTTPStatus(status).phrase
    else:
        code, title = error.code, error.title
    detail = error.message
    if isinstance(error, OF_THE_MACHINE):
        log.error("request failed", code=code, exc_info=error)
        detail = f"{title}. The server's log has the details."
    retry = error.retry_after_s
    if retry is None and status in (429, 503):
        retry = DEFAULT_RETRY_AFTER_S
    return Problem(
        type=f"/problems/{code}",
        title=title,
        status=status,
        detail=detail,
        code=code,
        request_id=request_id or g.get("request_id", ""),
        retry_after_s=retry,
    )


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """The reply that carries a problem; on the OpenAI-compatible door with the `error` member its clients look for."""
    members = problem.model_dump(exclude_none=True)
    if request.path.startswith("/v1/"):
        members["error"] = {"message": problem.detail, "type": problem.title, "code": problem.code, "param": None}
    response = Response(json.dumps(members, ensure_ascii=False), problem.status, mimetype=PROBLEM_JSON)
    if problem.retry_after_s is not None:
        response.headers["Retry-After"] = str(problem.retry_after_s)
    if problem.status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = 'Bearer realm="folio"'
    response.headers.update(headers or {})
    return response


def validation_response(error: ValidationError) -> Response:
    """A request that does not fit its model: 400 with every invalid field named, or 415 if it was not JSON at all."""
    if request.method in ("POST", "PUT") and not request.is_json and any(not e["loc"] for e in error.errors()):
        return problem_response(problem_of(NotAcceptedByHttp(415)))
    fields = [
        InvalidField(field=".".join(map(str, e["loc"])) or "body", message=e["msg"])
        for e in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    detail = "; ".join(f"{f.field}: {f.message}" for f in fields[:5])
    problem = problem_of(InvalidRequest(f"The request is not valid: {detail}."))
    return problem_response(problem.model_copy(update={"errors": fields}))


def register_errors(app: Flask) -> None:
    """Make every failure of this app a problem."""
    app.register_error_handler(FolioError, _on_folio_error)
    app.register_error_handler(HTTPException, _on_http_exception)
    app.register_error_handler(Exception, _on_unexpected)


def _on_folio_error(error: FolioError) -> Response:
    problem = problem_of(error)
    if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, OF_THE_MACHINE):
        log.error("request failed", code=problem.code, path=request.path, exc_info=error)
    return problem_response(problem)


def _on_http_exception(error: HTTPException) -> Response | HTTPException:
    if error.code is None or error.code < HTTPStatus.BAD_REQUEST:
        return error
    if error.response is not None and isinstance(error.response, Response):
        return error.response
    status = error.code if error.code in HTTP_PROBLEMS else HTTPStatus.BAD_REQUEST
    kept = {name: value for name, value in error.get_headers() if name in ("Allow", "Content-Range")}
    return problem_response(problem_of(NotAcceptedByHttp(int(status))), kept)


def _on_unexpected(error: Exception) -> Response:
    log.error("unexpected error", path=request.path, method=request.method, exc_info=error)
    message = "Folio met an error it did not expect. The server's log has the details under this request id."
    return problem_response(problem_of(FolioError(message)))


def every_code() -> dict[str, dict[str, Any]]:
    """Each problem code that a reply may carry, with its status and title; `docs/api.md` lists the same."""
    codes: dict[str, dict[str, Any]] = {
        kind.code: {"status": int(status), "title": kind.title} for kind, status in STATUS.items()
    }
    for status, (code, _) in HTTP_PROBLEMS.items():
        codes.setdefault(code, {"status": status, "title": HTTPStatus(status).phrase})
    return codes
