"""Follows a job on the command line, with a true progress bar; without a running worker this process works itself."""

import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from folio.services import Services
    from ingest.views import JobView

POLL_S = 0.3


def work(parts: "Services", job: "JobView") -> "JobView":
    """Follow a job to its end; without a running worker, this process works itself."""
    from ingest.worker import Worker, worker_lock, worker_runs

    if job.is_finished:  # nothing has changed
        return job
    if worker_runs(parts.settings):
        return _follow(parts, job.id)
    stop = threading.Event()
    with worker_lock(parts.settings):
        worker = Worker(parts.catalog, parts.embedder, parts.generations, parts.settings)
        thread = threading.Thread(target=worker.run, args=(stop,), name="worker")
        thread.start()
        try:
            return _follow(parts, job.id)
        finally:
            stop.set()
            thread.join()


def _follow(parts: "Services", job_id: str) -> "JobView":
    from tqdm import tqdm

    job = parts.ingestion.job(job_id)
    with tqdm(total=job.files.total, unit="file", file=sys.stderr, mininterval=0.5) as bar:
        while True:
            job = parts.ingestion.job(job_id)
            bar.update(job.files.finished - bar.n)
            rate = f", {job.rate_chunks_per_s}/s" if job.rate_chunks_per_s else ""
            bar.set_postfix_str(f"{job.chunks_done}/{job.chunks_total} chunks{rate}, {job.files.failed} failed")
            if job.is_finished:
                return job
            time.sleep(POLL_S)
