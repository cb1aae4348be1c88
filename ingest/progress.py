"""Tells the catalog what a worker's items are at: all of them in one transaction, twice a second, heartbeats included.

A file takes milliseconds per stage; a transaction for each stage of each file would cost more than the file.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import update
from sqlalchemy.exc import SQLAlchemyError

from folio.catalog import Catalog
from folio.catalog.models import IngestItem, now
from folio.log import get_logger
from ingest.lease import Lease, LostLease

WRITE_EVERY_S = 0.5
ITEMS = IngestItem.metadata.tables[IngestItem.__tablename__]

log = get_logger(__name__)


class ItemProgress:
    """One item's stage and counts, as they go to the catalog next."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.values: dict[str, object] = {}
        self.written_at = time.monotonic()
        self.is_lost = False

    def stage(self, stage: str, **values: object) -> None:
        """Note where the item is.

        Raises:
            LostLease: the item was cancelled or taken over.
        """
        if self.is_lost:
            raise LostLease(self.lease.item_id)
        self.values = {**self.values, "stage": stage, **values}


class Progress:
    """Keeps the leases of the items at work and writes their progress. One for each worker; `close` ends its thread.

    Args:
        lease_s: seconds without a heartbeat after which an item is free again.
    """

    def __init__(self, catalog: Catalog, lease_s: float) -> None:
        self._catalog = catalog
        self._beat_s = lease_s / 4
        self._items: set[ItemProgress] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def kept(self, lease: Lease) -> Iterator[ItemProgress]:
        """Renew the lease while the block runs, and write what is noted there."""
        item = ItemProgress(lease)
        with self._lock:
            self._items.add(item)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
                self._thread.start()
        try:
            yield item
        finally:
            with self._lock:
                self._items.discard(item)

    def close(self) -> None:
        """Stop writing; the next item starts it again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._thread = None
        self._stop.clear()

    def _run(self) -> None:
        while not self._stop.wait(min(WRITE_EVERY_S, self._beat_s)):
            try:
                self._write()
            except (
                SQLAlchemyError
            ):  # the next beat may succeed; an item whose lease runs out meanwhile is not committed
                log.warning("progress could not be written", exc_info=True)

    def _write(self) -> None:
        late = time.monotonic() - self._beat_s
        with self._lock:
            due = [item for item in self._items if item.values or item.written_at < late]
        if not due:
            return
        with self._catalog.write() as session:
            for item in due:
                values, item.values = item.values, {}
                item.written_at = time.monotonic()
                held = update(ITEMS).where(
                    ITEMS.c.id == item.lease.item_id,
                    ITEMS.c.state == "running",
                    ITEMS.c.worker == item.lease.worker,
                )
                # Through the connection: a session would look for objects to bring up to date, and holds none.
                item.is_lost = not session.connection().execute(held.values(heartbeat_at=now(), **values)).rowcount
