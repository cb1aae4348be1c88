"""Follows a job on the command line, with a true progress bar; without a running worker this process works itself."""

import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from folio.errors import Unavailable

if TYPE_CHECKING:
    from folio.services import Services
    from ingest.views import JobView

POLL_S = 0.3


def work(parts: "Services", job: "JobView") -> "JobView":
    """Follow a job to its end; without a running worker, this process works itself, also when one ends meanwhile."""
    from ingest.worker import worker_runs

    def is_there() -> bool:
        return worker_runs(parts.settings)

    while not job.is_finished:
        if not is_there():
            return _work(parts, job)
        job = _follow(parts, job.id, is_there)
        if not job.is_finished:
            click.echo("The worker has ended; this command does the rest itself.", err=True)
    return job


def _work(parts: "Services", job: "JobView") -> "JobView":
    from ingest.worker import Worker, worker_lock

    stop = threading.Event()
    with worker_lock(parts.settings):
        worker = Worker(parts.catalog, parts.embedder, parts.generations, parts.settings)
        thread = threading.Thread(target=worker.run, args=(stop,), name="worker")
        thread.start()
        try:
            job = _follow(parts, job.id, thread.is_alive)
        finally:
            stop.set()
            thread.join()
    if not job.is_finished:
        raise Unavailable(f"The work broke off; what is done is kept. Start `folio worker` to go on with job {job.id}.")
    return job


def _follow(parts: "Services", job_id: str, is_worked_on: Callable[[], bool]) -> "JobView":
    """Show how far a job is until it is finished, or nobody works on it any more."""
    from tqdm import tqdm

    job = parts.ingestion.job(job_id)
    with tqdm(total=job.files.total, unit="file", file=sys.stderr, mininterval=0.5) as bar:
        while True:
            job = parts.ingestion.job(job_id)
            bar.update(job.files.finished - bar.n)
            rate = f", {job.rate_chunks_per_s}/s" if job.rate_chunks_per_s else ""
            bar.set_postfix_str(f"{job.chunks_done}/{job.chunks_total} chunks{rate}, {job.files.failed} failed")
            if job.is_finished or not is_worked_on():
                return job
            time.sleep(POLL_S)
