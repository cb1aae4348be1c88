"""`/api/v1/jobs`: how ingestion goes, with cancel and retry."""

from typing import Literal

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, Field

from folio.errors import InvalidRequest, NotFound
from ingest.service import JobView
from ingest.views import ItemView
from web.access import needs
from web.api.common import Id, Name, Text, problems
from web.api.described import json_of
from web.context import caller, services, visible
from web.replies import reply

jobs_api = APIBlueprint("jobs", __name__, url_prefix="/api/v1/jobs", abp_tags=[Tag(name="Jobs")])


class JobPath(BaseModel):
    """A job's id."""

    job_id: Id


class JobPage(BaseModel):
    """Jobs, newest first."""

    items: list[JobView]
    next_cursor: str | None


class JobsQuery(BaseModel):
    """Which jobs."""

    collection: Name | None = None
    limit: int = Field(50, ge=1, le=200)
    cursor: Text = Field("", max_length=64, description="`next_cursor` of the page before; empty for the first page.")


class ItemsPage(BaseModel):
    """Files of a job, in its order."""

    items: list[ItemView]
    next_cursor: str | None


class ItemsQuery(BaseModel):
    """Which files of a job."""

    state: Literal["", "queued", "running", "done", "unchanged", "failed", "cancelled"] = Field(
        "", description="Only files in this state; empty for all."
    )
    limit: int = Field(200, ge=1, le=1000, description="Most files in the reply.")
    cursor: str = Field("", pattern="^[0-9]{0,9}$", description="`next_cursor` of the page before.")


@jobs_api.get("", responses={200: json_of(JobPage), **problems()})
@needs("ask")
def list_jobs(query: JobsQuery) -> Response:
    """List jobs, newest first."""
    wanted: list[str | None] = [visible(query.collection)] if query.collection is not None else _visible_collections()
    if query.cursor:
        _check_cursor(query.cursor)
    jobs = services().ingestion.jobs
    found = [job for name in wanted for job in jobs(name, limit=query.limit, before=query.cursor or None)]
    items = sorted(found, key=lambda job: (job.created_at, job.id), reverse=True)[: query.limit]
    return reply(JobPage(items=items, next_cursor=items[-1].id if len(items) == query.limit else None))


@jobs_api.get("/<job_id>", responses={200: json_of(JobView), **problems()})
@needs("ask")
def get_job(path: JobPath) -> Response:
    """Show a job: state, counts, rate, and the files that matter most, each with its stage and reason."""
    return reply(_own_job(path.job_id))


@jobs_api.get("/<job_id>/items", responses={200: json_of(ItemsPage), **problems()})
@needs("ask")
def list_items(path: JobPath, query: ItemsQuery) -> Response:
    """List all files of a job, page by page."""
    job = _own_job(path.job_id)
    after = int(query.cursor) if query.cursor else -1
    page = services().ingestion.items(job.id, state=query.state, limit=query.limit, after=after)
    next_cursor = None if page.next_after is None else str(page.next_after)
    return reply(ItemsPage(items=page.items, next_cursor=next_cursor))


@jobs_api.post("/<job_id>/cancel", responses={200: json_of(JobView), **problems(409)})
@needs("ingest")
def cancel_job(path: JobPath) -> Response:
    """Cancel what has not been done yet; what is done stays."""
    job = _own_job(path.job_id)
    services().ingestion.cancel(job.id)
    return reply(services().ingestion.job(job.id))


@jobs_api.post("/<job_id>/retry", responses={200: json_of(JobView), **problems(409)})
@needs("ingest")
def retry_job(path: JobPath) -> Response:
    """Try the failed and cancelled files again."""
    job = _own_job(path.job_id)
    services().ingestion.retry(job.id)
    return reply(services().ingestion.job(job.id))


def _visible_collections() -> list[str | None]:
    """The collections a limited caller may see; `[None]`, meaning all, for everyone else."""
    limited = caller().collections
    return [None] if limited is None else [*sorted(limited)]


def _check_cursor(job_id: str) -> None:
    try:
        _own_job(job_id)
    except NotFound as exc:
        raise InvalidRequest("The cursor is not one that this list gave.") from exc


def _own_job(job_id: str) -> JobView:
    missing = NotFound(f"There is no job {job_id!r}.")
    try:
        job = services().ingestion.job(job_id)
    except NotFound as exc:
        raise missing from exc
    if not caller().sees(job.collection):
        raise missing
    return job
