"""`folio worker`: the ingest worker, in a process of its own."""

import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from folio.log import get_logger

if TYPE_CHECKING:
    from filelock import FileLock

log = get_logger(__name__)
PLACE_S = 1.0  # between looks whether it is to stop instead of waiting for its place


@click.command("worker")
def worker() -> None:
    """Run the ingest worker alone; `folio serve` does this for you.

    While another one works on the same data folder, this one waits to take its place.
    """
    from folio.cli.context import services
    from ingest.worker import Worker, worker_lock

    parts = services()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    lock = worker_lock(parts.settings)
    if _take_place(lock, parts.settings.data_dir, stop):
        parts.embedder.count_tokens(["warm"])  # the model is loaded before the first file needs it
        Worker(parts.catalog, parts.embedder, parts.generations, parts.settings).run(stop)
        lock.release()
    parts.close()


def _take_place(lock: "FileLock", folder: Path, stop: threading.Event) -> bool:
    """Wait until no other worker holds the lock; False when told to stop before that."""
    from filelock import Timeout

    has_said = False
    while True:
        with suppress(Timeout):
            lock.acquire(timeout=PLACE_S)
            return True
        if stop.is_set():
            return False
        if not has_said:
            log.info("another worker runs; this one takes its place when it ends", folder=str(folder))
        has_said = True
