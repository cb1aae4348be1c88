"""`folio worker`: the ingest worker, in a process of its own."""

import signal
import threading

import click

from folio.errors import Conflict


@click.command("worker")
def worker() -> None:
    """Run the ingest worker alone; `folio serve` does this for you."""
    from filelock import Timeout

    from folio.cli.context import services
    from ingest.worker import Worker, worker_lock

    parts = services()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    lock = worker_lock(parts.settings)
    try:
        lock.acquire(timeout=5)
    except Timeout as exc:
        raise Conflict(f"A worker for {parts.settings.data_dir} is running already.") from exc
    with lock:
        parts.embedder.count_tokens(["warm"])  # the model is loaded before the first file needs it
        Worker(parts.catalog, parts.embedder, parts.generations, parts.settings).run(stop)
    parts.close()
