"""`folio worker`: the ingest worker, in a process of its own."""

import signal
import threading

import click

from folio.log import get_logger

log = get_logger(__name__)
PLACE_S = 1.0  # between looks whether the worker's place is free


@click.command("worker")
def worker() -> None:
    """Run the ingest worker alone; `folio serve` does this for you.

    While another one works on the same data folder, this one waits to take its place.
    """
    from filelock import Timeout

    from folio.cli.context import services
    from ingest.worker import Worker, worker_lock

    parts = services()
    stop = threading.Event()
    has_said = False
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    lock = worker_lock(parts.settings)
    while not lock.is_locked and not stop.is_set():
        try:
            lock.acquire(timeout=PLACE_S)
        except Timeout:
            if not has_said:
                log.info(
                    "another worker runs; this one takes its place when it ends", folder=str(parts.settings.data_dir)
                )
            has_said = True
    if lock.is_locked:
        parts.embedder.count_tokens(["warm"])  # the model is loaded before the first file needs it
        Worker(parts.catalog, parts.embedder, parts.generations, parts.settings).run(stop)
        lock.release()
    parts.close()
