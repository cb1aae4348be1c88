"""Who works on an item: taken by one worker at a time, kept by heartbeats, free again when those stop."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select, update

from folio.catalog import Catalog
from folio.catalog.models import IngestItem, IngestJob, now
from ingest import reasons
from ingest.jobs import settle


@dataclass(frozen=True)
class Lease:
    """An item that this worker holds, as it was when taken."""

    item_id: str
    job_id: str
    collection_id: str
    worker: str
    uri: str
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

    def take(self, item_id: str) -> Lease | None:
        """Take an item; None when it is not there or not waiting any more."""
        at = now()
        with self._catalog.write() as session:
            item = session.get(IngestItem, item_id)
            if item is None or item.state != "queued":
                return None
            item.state, item.stage, item.worker = "running", "reading", self._worker
            item.attempts += 1
            item.heartbeat_at = item.started_at = at
            job = item.job
            if job.state == "queued":
                job.state, job.started_at = "running", job.started_at or at
            options = item.options
            return Lease(
                item_id=item.id, job_id=job.id, collection_id=job.collection_id, worker=self._worker, uri=item.uri,
                title=item.title, media_type=item.media_type, sha256=item.sha256, size_bytes=item.size_bytes,
                source_modified_at=item.source_modified_at, tags=tuple(options.get("tags", [])),
                meta=dict(options.get("meta", {})), depth=int(options.get("depth", 0)),
            )  # fmt: skip

    @contextmanager
    def kept(self, lease: Lease) -> Iterator[None]:
        """Renew the lease in the background while the block runs."""
        stop = threading.Event()

        def beat() -> None:
            while not stop.wait(self._lease_s / 4):
                self.note(lease, heartbeat_at=now())

        thread = threading.Thread(target=beat, daemon=True, name="lease")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

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
            item = session.get(IngestItem, lease.item_id)
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
            stale = select(IngestItem).where(
                IngestItem.state == "running", IngestItem.heartbeat_at < at - timedelta(seconds=self._lease_s)
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
