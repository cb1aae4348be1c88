"""A job as users see it, counted from its items."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from folio.catalog.models import Collection, IngestItem, IngestJob, now
from ingest.views import Counts, ItemView, JobView

UNFINISHED = ("queued", "running")


def describe_job(session: Session, job: IngestJob) -> JobView:
    """The job with its counts, its rate and its files."""
    items = job.items
    counts = Counts(total=len(items))
    for item in items:
        setattr(counts, item.state, getattr(counts, item.state) + 1)
    chunks_done = sum(item.chunks_done for item in items)
    elapsed_s = ((job.finished_at or now()) - job.started_at).total_seconds() if job.started_at else 0.0
    return JobView(
        id=job.id,
        collection=session.scalar(select(Collection.name).where(Collection.id == job.collection_id)) or "",
        source=job.source,
        state=job.state,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        files=counts,
        chunks_total=sum(item.chunks_total for item in items),
        chunks_done=chunks_done,
        rate_chunks_per_s=round(chunks_done / elapsed_s, 2) if elapsed_s > 0 and chunks_done else None,
        eta_s=_eta_s(counts, elapsed_s),
        items=[_describe_item(item) for item in items],
    )


def _eta_s(counts: Counts, elapsed_s: float) -> float | None:
    left = counts.queued + counts.running
    if left == 0:
        return 0.0
    if counts.finished == 0 or elapsed_s <= 0:
        return None
    return round(elapsed_s / counts.finished * left, 1)


def _describe_item(item: IngestItem) -> ItemView:
    return ItemView(
        id=item.id,
        uri=item.uri,
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


def settle(session: Session, job_id: str, at: datetime) -> bool:
    """Close a job whose last item is finished; True when this call closed it."""
    job = session.get(IngestJob, job_id)
    if job is None or job.state not in UNFINISHED:
        return False
    states: Sequence[str] = session.scalars(select(IngestItem.state).where(IngestItem.job_id == job_id)).all()
    if any(state in UNFINISHED for state in states):
        return False
    job.state = "failed" if all(state == "failed" for state in states) else "done"
    job.finished_at = at
    return True
