"""`folio ingest`: add files, folders, globs and URLs to a collection, with a true progress bar."""

import sys
import threading
import time
from typing import TYPE_CHECKING

import click

from folio.errors import IngestError

if TYPE_CHECKING:
    from folio.services import Services
    from ingest.views import IncomingFile, JobView

POLL_S = 0.3
WATCH_S = 5.0


@click.command("ingest")
@click.argument("sources", nargs=-1, required=True)
@click.option("--collection", default="default", show_default=True, help="Where to add them; made if it is not there.")
@click.option("--dry-run", is_flag=True, help="Only say what would be added, changed, left alone or deleted.")
@click.option("--delete-missing", is_flag=True, help="Delete documents below the named folders whose file is gone.")
@click.option("--watch", is_flag=True, help="Go on: look again every few seconds until interrupted.")
@click.option(
    "--crawl", type=int, metavar="DEPTH", help="Of addresses: also the pages of the site, so many links deep."
)
@click.option("--sitemap", is_flag=True, help="Of addresses: the pages that the site's map names.")
@click.option("--max-pages", type=int, default=200, show_default=True, help="Pages taken of one site at most.")
@click.option("--json", "as_json", is_flag=True, help="Print the finished job as JSON.")
def ingest(
    sources: tuple[str, ...],
    collection: str,
    dry_run: bool,
    delete_missing: bool,
    watch: bool,
    crawl: int | None,
    sitemap: bool,
    max_pages: int,
    as_json: bool,
) -> None:
    """Add SOURCES (files, folders, globs, http addresses) to a collection; unchanged files cost nothing."""
    from folio.cli.context import echo_json, services
    from ingest.comparison import compare

    if crawl is not None or sitemap:
        sources = _as_sites(sources, None if sitemap else crawl, max_pages)
    parts = services()
    tried: dict[str, str] = {}  # by uri, so that watching does not try a failed file or an address again and again
    while True:
        files = parts.ingestion.collect(sources, store=not dry_run)
        plan = compare(parts.catalog, collection, files, sources)
        if dry_run:
            if as_json:
                echo_json(plan.counts)
            else:
                click.echo(", ".join(f"{count} {name}" for name, count in plan.counts.items()))
            return
        if delete_missing:
            for document_id in plan.missing:
                parts.documents.delete(document_id)
        fresh = [file for file in files if tried.get(file.uri) != file.sha256]
        tried = {file.uri: file.sha256 for file in files}
        if not watch or {file.uri for file in fresh} & {*plan.new, *plan.changed}:
            job = _ingest(parts, collection, fresh, sources)
            if as_json:
                echo_json(job)
            else:
                _report(job)
        if not watch:
            break
        time.sleep(WATCH_S)
    if job.files.failed:
        raise IngestError(
            "files_failed", f"{job.files.failed} of {job.files.total} files failed; the rest are searchable."
        )


def _as_sites(sources: tuple[str, ...], depth: int | None, max_pages: int) -> tuple[str, ...]:
    from ingest.site import Site

    is_address = [source.lower().startswith(("http://", "https://")) for source in sources]
    if not any(is_address):
        raise click.UsageError("--crawl and --sitemap are for http and https addresses; none is named.")
    return tuple(
        Site(source, depth, max_pages).uri if is_page else source
        for source, is_page in zip(sources, is_address, strict=True)
    )


def _ingest(parts: "Services", collection: str, files: list["IncomingFile"], sources: tuple[str, ...]) -> "JobView":
    """Submit the files and follow their job; without a running worker, this process works itself."""
    from ingest.worker import Worker, worker_lock, worker_runs

    job = parts.ingestion.submit(collection, files, source=" ".join(sources))
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


def _report(job: "JobView") -> None:
    for item in job.items:
        if item.state == "failed":
            click.echo(f"failed ({item.reason_code}) {item.uri}: {item.reason}", err=True)
    counts = job.files
    click.echo(
        f"{counts.done} added, {counts.unchanged} unchanged, {counts.failed} failed; searchable now. Job {job.id}"
    )
