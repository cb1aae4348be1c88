"""`/healthz`, `/readyz`, `/metrics`, `/api/v1/status`: for orchestrators, Prometheus, and the page."""

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, Field

from folio import __version__
from web.access import needs
from web.api.common import problems
from web.context import services
from web.replies import reply

health_api = APIBlueprint("health", __name__, abp_tags=[Tag(name="Health")])
RETRY_AFTER_S = 5


class Alive(BaseModel):
    """The process answers."""

    status: str = "ok"


class EngineStatus(BaseModel):
    """The language model's server."""

    ready: bool
    state: str = Field(description="`starting`, `ready` or `failed`.")
    detail: str
    model: str
    max_model_len: int | None = Field(description="Context window in tokens.")
    running: int | None = Field(description="Requests being decoded.")
    waiting: int | None = Field(description="Requests in the engine's queue.")


class Status(BaseModel):
    """What works at the moment."""

    ready: bool
    search_ready: bool
    engine: EngineStatus
    embedding_model: str
    version: str


@health_api.get("/healthz", responses={200: Alive, **problems()})
@needs("")
def healthz() -> Response:
    """The process is alive; nothing else is checked."""
    return reply(Alive())


@health_api.get("/readyz", responses={200: Status, 503: Status, **problems()})
@needs("")
def readyz() -> Response:
    """200 when questions can be answered, else 503 with the same body."""
    status = current_status()
    if status.ready:
        return reply(status)
    return reply(status, 503, headers={"Retry-After": str(RETRY_AFTER_S)})


@health_api.get("/api/v1/status", responses={200: Status, **problems()})
@needs("")
def status() -> Response:
    """What works at the moment; always 200."""
    return reply(current_status())


@health_api.get("/metrics", responses={200: {"content": {"text/plain": {}}}, **problems()})
@needs("admin")
def metrics() -> Response:
    """Figures for Prometheus."""
    services().engine.health()  # looks at the engine, which brings its figures up to date
    return Response(generate_latest(), content_type=CONTENT_TYPE_LATEST)


def current_status() -> Status:
    """Ask the parts."""
    health = services().engine.health()
    engine = EngineStatus(
        ready=health.ready,
        state=health.state,
        detail=health.detail,
        model=health.model,
        max_model_len=health.max_model_len,
        running=health.running,
        waiting=health.waiting,
    )
    warm = services().searcher.is_warm
    return Status(
        ready=health.ready and warm,
        search_ready=warm,
        engine=engine,
        embedding_model=services().settings.embedding_model,
        version=__version__,
    )
