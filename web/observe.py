"""A request id for every request, one log line for each, and Prometheus figures."""

import re
import time
import uuid

import structlog
from flask import Flask, Response, g, request

from folio.log import get_logger
from folio.metrics import HTTP_IN_PROGRESS, HTTP_REQUESTS, HTTP_SECONDS
from folio.tracing import called_with

log = get_logger("web.access_log")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"))
QUIET = ("/healthz", "/readyz", "/metrics", "/static/")


def register_observation(app: Flask) -> None:
    """Number, time, count and log requests. Call first, so that refused requests are seen too."""
    app.before_request(_start)
    app.after_request(_finish)
    app.teardown_request(_leave)


def _start() -> None:
    given = request.headers.get("X-Request-Id", "")
    g.request_id = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
    g.started = time.perf_counter()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)
    called_with(request.headers.get("traceparent", ""), request.headers.get("tracestate", ""))
    HTTP_IN_PROGRESS.inc()


def _finish(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.request_id
    seconds = time.perf_counter() - g.started
    endpoint = request.endpoint or "none"
    method = request.method if request.method in METHODS else "other"  # clients may make up any number of methods
    HTTP_REQUESTS.labels(method, endpoint, response.status_code).inc()
    HTTP_SECONDS.labels(method, endpoint).observe(seconds)
    if not request.path.startswith(QUIET):
        log.info(
            "request",
            method=request.method,
            path=request.path,
            status=response.status_code,
            ms=round(seconds * 1000, 1),
            caller=g.caller.key_id if "caller" in g else "",
        )
    return response


def _leave(_error: BaseException | None) -> None:
    HTTP_IN_PROGRESS.dec()
    structlog.contextvars.unbind_contextvars("request_id")
