"""A job as users see it: counted by the database, its files up to a limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session

from folio.catalog.models import Collection, IngestItem, IngestJob, now
from ingest.sources import is_url
from ingest.views import Counts, ItemPage, ItemView, JobView

UNFINISHED = ("queued", "running")
SHOWN_ITEMS = 200  # of a job looked at by itself
LISTED_ITEMS = 50  # of each job in a list
IMPORTANCE = {"failed": 0, "running": 1, "queued": 2, "cancelled": 3, "done": 4, "unchanged": 5}


def describe_job(session: Session, job: IngestJob, *, items: int = SHOWN_ITEMS) -> JobView:
    """The job with its counts, its rate and at most `items` of its files."""
    groups = _groups(session, job)
    counts = Counts(total=sum(group.files for group in groups))
    for group in groups:
        setattr(counts, group.state, getattr(counts, group.state) + group.files)
        counts.opened += group.opened if group.state == "done" else 0
    elapsed_s = ((job.finished_at or now()) - job.started_at).total_seconds() if job.started_at else 0.0
    this_run = sum(group.chunks_this_run for group in groups)
    rate = this_run / elapsed_s if elapsed_s > 0 and this_run else None
    shown = _most_important(session, job.id, items)
    return JobView(
        id=job.id,
        collection=session.scalar(select(Collection.name).where(Collection.id == job.collection_id)) or "",
        source=_shown_source(job.source),
        catalog_source=job.source,
        state=job.state,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        files=counts,
        chunks_total=sum(group.chunks_total for group in groups),
        chunks_done=sum(group.chunks_done for group in groups),
        rate_chunks_per_s=round(rate, 2) if rate else None,
        eta_s=_eta_s(groups, rate),
        items=shown,
        items_left_out=counts.total - len(shown),
    )


def page_items(session: Session, job_id: str, *, state: str, limit: int, after: int) -> ItemPage:
    """Files of a job after the one with ordinal `after`."""
    query = select(IngestItem).where(IngestItem.job_id == job_id, IngestItem.ordinal > after)
    if state:
        query = query.where(IngestItem.state == state)
    rows = session.scalars(query.order_by(IngestItem.ordinal).limit(limit + 1)).all()
    items = [_describe_item(row) for row in rows[:limit]]
    return ItemPage(items=items, next_after=rows[limit - 1].ordinal if len(rows) > limit else None)


@dataclass(frozen=True)
class _Group:
    """Files of one state and media type, added up.

    `parsed_bytes` is the size of those whose chunks are known, `opened` how many are no document themselves.
    """

    state: str
    media_type: str
    files: int
    size_bytes: int
    parsed_bytes: int
    chunks_total: int
    chunks_done: int
    chunks_this_run: int
    opened: int


def _groups(session: Session, job: IngestJob) -> list[_Group]:
    started = job.started_at or job.created_at
    in_this_run = or_(IngestItem.finished_at.is_(None), IngestItem.finished_at >= started)
    query = (
        select(
            IngestItem.state,
            IngestItem.media_type,
            func.count(),
            func.sum(IngestItem.size_bytes),
            func.sum(case((IngestItem.chunks_total > 0, IngestItem.size_bytes), else_=0)),
            func.sum(IngestItem.chunks_total),
            func.sum(IngestItem.chunks_done),
            func.sum(case((in_this_run, IngestItem.chunks_done), else_=0)),
            func.sum(case((IngestItem.document_id == "", 1), else_=0)),
        )
        .where(IngestItem.job_id == job.id)
        .group_by(IngestItem.state, IngestItem.media_type)
    )
    return [_Group(row[0], row[1], row[2], *map(int, row[3:])) for row in session.execute(query)]


def _eta_s(groups: Sequence[_Group], rate: float | None) -> float | None:
    """Chunks left over the rate. Chunks of files not parsed yet follow from their bytes, by media type."""
    left = [group for group in groups if group.state in UNFINISHED]
    if not left:
        return 0.0
    if rate is None:
        return None
    chunks = sum(group.chunks_total - group.chunks_done for group in left)
    for group in left:
        density = _chunks_per_byte([known for known in groups if known.media_type == group.media_type])
        if density is None:
            density = _chunks_per_byte(groups)
        chunks_unknown = (group.size_bytes - group.parsed_bytes) * (density or 0.0)
        chunks += round(chunks_unknown)
    return round(chunks / rate, 1)


def _chunks_per_byte(groups: Sequence[_Group]) -> float | None:
    size = sum(group.parsed_bytes for group in groups)
    return sum(group.chunks_total for group in groups) / size if size else None


def _most_important(session: Session, job_id: str, limit: int) -> list[ItemView]:
    """Failed and running files first, then waiting ones, then the rest; each kind in the order of the job."""
    found: list[IngestItem] = []
    for state in IMPORTANCE:
        query = select(IngestItem).where(IngestItem.job_id == job_id, IngestItem.state == state)
        found += session.scalars(query.order_by(IngestItem.ordinal).limit(limit - len(found))).all()
        if len(found) >= limit:
            break
    return [_describe_item(item) for item in found]


def _describe_item(item: IngestItem) -> ItemView:
    return ItemView(
        id=item.id,
        uri=item.address,
        catalog_uri=item.uri,
        title=item.title,
        state=item.state,
        stage=item.stage,
        attempts=item.attempts,
        reason_code=item.reason_code,
        reason=item.reason,
        chunks_total=item.chunks_total,
        chunks_done=item.chunks_done,
        chunks_reused=item.chunks_reused,
        document_id=item.document_id,
        size_bytes=item.size_bytes,
    )


def _shown_source(source: str) -> str:
    """Where a job's files come from, without their place on the server's disk."""
    said = source in ("", "upload", "text") or all(map(is_url, source.split()))
    return source if said else "disk"


def settle(session: Session, job_id: str, at: datetime) -> bool:
    """Close a job whose last item is finished; True when this call closed it."""
    job = session.get(IngestJob, job_id, with_for_update=True)
    if job is None or job.state not in UNFINISHED:
        return False
    items = select(IngestItem.state).where(IngestItem.job_id == job_id)
    if session.scalar(items.where(IngestItem.state.in_(UNFINISHED)).limit(1)):
        return False
    states = set(session.scalars(items.distinct()))
    job.state = "failed" if states == {"failed"} else "done"
    job.finished_at = at
    return True
