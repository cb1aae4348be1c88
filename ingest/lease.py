"""Who works on an item: taken by one worker at a time, kept by heartbeats, free again when those stop."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from folio.catalog import Catalog
from folio.catalog.locks import Turn, wait_turn
from folio.catalog.models import IngestItem, IngestJob, now
from ingest import reasons
from ingest.jobs import UNFINISHED, settle


@dataclass(frozen=True)
class Lease:
    """An item that this worker holds, as it was when taken."""

    item_id: str
    job_id: str
    collection_id: str
    worker: str
    uri: str
    address: str
    title: str
    media_type: str
    sha256: str
    size_bytes: int
    source_modified_at: datetime | None
    tags: tuple[str, ...]
    meta: dict[str, str]
    depth: int = 0


class LostLease(Exception):
    """The item was cancelled, or another worker took it over; whatever was done with it here is not to be committed."""


class Leases:
    """Takes, renews and frees items for one worker.

    Args:
        worker: a name no other worker has.
        lease_s: seconds without a heartbeat after which an item is free again.
        attempts: times an item is tried.
    """

    def __init__(self, catalog: Catalog, worker: str, *, lease_s: float, attempts: int) -> None:
        self._catalog = catalog
        self._worker = worker
        self._lease_s = lease_s
        self._attempts = attempts
        self._turns: dict[str, int] = {}  # when each job was last served; new ones come first

    def take(self, item_id: str) -> Lease | None:
        """Take the item whose turn it is; None when none can be taken now.

        Jobs take turns, so that one file never waits behind ten thousand. Within its job, `item_id` (the item that woke
        this worker) goes first. An item waits while one with the same bytes or the same uri is being worked on.
        """
        at = now()
        with self._catalog.write() as session:
            wait_turn(session, Turn.TAKE_ITEM)
            item = self._in_turn(session, item_id)
            if item is None:
                return None
            # A name of this very try: a thread that still has an earlier one finds that it is no longer its own.
            worker = f"{self._worker}#{secrets.token_hex(4)}"
            item.state, item.stage, item.worker = "running", "reading", worker
            item.attempts += 1
            item.heartbeat_at = item.started_at = at
            item.chunks_total = item.chunks_done = item.chunks_reused = 0
            job = item.job
            if job.state == "queued":
                job.state, job.started_at = "running", job.started_at or at
            options = item.options
            return Lease(
                item_id=item.id, job_id=job.id, collection_id=job.collection_id, worker=worker, uri=item.uri,
                address=item.address, title=item.title, media_type=item.media_type, sha256=item.sha256,
                size_bytes=item.size_bytes, source_modified_at=item.source_modified_at,
                tags=tuple(options.get("tags", [])), meta=dict(options.get("meta", {})),
                depth=int(options.get("depth", 0)),
            )  # fmt: skip

    def _in_turn(self, session: Session, item_id: str) -> IngestItem | None:
        has_waiting = select(IngestItem.id).where(IngestItem.job_id == IngestJob.id, IngestItem.state == "queued")
        jobs = session.execute(
            select(IngestJob.id, IngestJob.collection_id)
            .where(IngestJob.state.in_(UNFINISHED), has_waiting.exists())
            .order_by(IngestJob.created_at, IngestJob.id)
        ).all()
        self._turns = {job_id: self._turns.get(job_id, 0) for job_id, _ in jobs}
        for job_id, collection_id in sorted(jobs, key=lambda job: self._turns[job[0]]):
            item = _waiting_item(session, job_id, collection_id, item_id)
            if item is not None:
                self._turns[job_id] = max(self._turns.values()) + 1
                return item
        return None

    def note(self, lease: Lease, **values: object) -> bool:
        """Write progress to an item this worker still holds; False when it does not hold it any more."""
        with self._catalog.write() as session:
            held = update(IngestItem).where(
                IngestItem.id == lease.item_id, IngestItem.state == "running", IngestItem.worker == lease.worker
            )
            return bool(session.execute(held.values(**values)).rowcount)  # type: ignore[attr-defined]

    def fail(self, lease: Lease, reason_code: str, reason: str) -> bool:
        """Close an item as failed, or let it wait for another try where that may help.

        Returns:
            Whether the item waits for another try.
        """
        with self._catalog.write() as session:
            item = session.get(IngestItem, lease.item_id, with_for_update=True)
            if item is None or item.state != "running" or item.worker != lease.worker:
                return False
            again = reason_code in reasons.RETRYABLE and item.attempts < self._attempts
            item.state, item.stage, item.worker = ("queued" if again else "failed"), "", ""
            item.reason_code, item.reason = reason_code, reason
            if not again:
                item.finished_at = now()
                settle(session, item.job_id, now())
            return again

    def reclaim(self) -> list[str]:
        """Free the items of workers that died, and close those that were tried too often.

        Returns:
            Every item that waits, for the queue: a message may have been lost with its worker.
        """
        at = now()
        with self._catalog.write() as session:
            stale = (
                select(IngestItem)
                .where(IngestItem.state == "running", IngestItem.heartbeat_at < at - timedelta(seconds=self._lease_s))
                .with_for_update(skip_locked=True)
            )
            for item in session.scalars(stale).all():
                item.stage, item.worker = "", ""
                if item.attempts < self._attempts:
                    item.state = "queued"
                    continue
                item.state, item.finished_at = "failed", at
                item.reason_code, item.reason = reasons.WORKER_LOST, reasons.MEANINGS[reasons.WORKER_LOST]
                session.flush()
                settle(session, item.job_id, at)
            waiting = (
                select(IngestItem.id)
                .join(IngestJob)
                .where(IngestItem.state == "queued")
                .order_by(IngestJob.created_at, IngestItem.ordinal)
            )
            return list(session.scalars(waiting).all())


def _waiting_item(session: Session, job_id: str, collection_id: str, preferred: str) -> IngestItem | None:
    """The job's next waiting item that has no twin at work; `preferred` before those that stand in front of it."""
    at_work = session.execute(
        select(IngestItem.uri, IngestItem.sha256)
        .join(IngestJob)
        .where(IngestItem.state == "running", IngestJob.collection_id == collection_id)
    ).all()
    free = (
        select(IngestItem)
        .where(IngestItem.job_id == job_id, IngestItem.state == "queued")
        .where(IngestItem.uri.not_in([uri for uri, _ in at_work]))
        .where(or_(IngestItem.sha256 == "", IngestItem.sha256.not_in([sha256 for _, sha256 in at_work])))
        .with_for_update(of=IngestItem, skip_locked=True)
    )
    return session.scalar(free.where(IngestItem.id == preferred)) or session.scalar(
        free.order_by(IngestItem.ordinal).limit(1)
    )
