"""`folio ingest`: add files, folders, globs and URLs to a collection, with a true progress bar."""

import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from folio.errors import IngestError, InvalidRequest, NotFound

if TYPE_CHECKING:
    from folio.services import Services
    from ingest.views import JobView

POLL_S = 0.3
WATCH_S = 5.0


@click.command("ingest")
@click.argument("sources", nargs=-1, required=True)
@click.option("--collection", default="default", show_default=True, help="Where to add them; made if it is not there.")
@click.option("--dry-run", is_flag=True, help="Only say what would be added, changed, left alone or deleted.")
@click.option(
    "--delete-missing", is_flag=True, help="Delete documents of the named files and folders whose file is gone."
)
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
    from ingest.sources import disk_of, is_url, refuse_missing

    if crawl is not None or sitemap:
        sources = _as_sites(sources, None if sitemap else crawl, max_pages)
    parts = services()
    tried: dict[str, str] = {}  # by uri, so that watching does not try a failed file or an address again and again
    disks: dict[str, int] = {}  # that each path was on when it was last there
    notices = _Notices()
    while True:
        gone: list[str] = []
        closed: list[Path] = []
        files = parts.ingestion.collect(
            sources,
            store=not dry_run,
            on_missing=gone.append if disks else refuse_missing,
            on_unreadable=closed.append,
        )
        there = {source for source in sources if source not in gone and Path(source).expanduser() not in closed}
        disks |= {source: disk_of(source) for source in there if not is_url(source)}
        away = [source for source in gone if disk_of(source) != disks.get(source)]
        plan = compare(parts.catalog, collection, files, sources, away=away)
        notices.show(
            [f"{source} is not there any more; watching goes on, and takes it when it is back." for source in gone],
            [f"{path} can't be read and was left out. Check its permissions." for path in closed],
            _withheld(plan.withheld) if delete_missing or dry_run else [],
        )
        if dry_run:
            if as_json:
                echo_json(plan.counts)
            else:
                click.echo(", ".join(f"{count} {name}" for name, count in plan.counts.items()))
            return
        fresh = [file for file in files if tried.get(file.uri) != file.sha256]
        tried = {file.uri: file.sha256 for file in files}
        is_due = not watch or {file.uri for file in fresh} & {*plan.new, *plan.changed}
        job = parts.ingestion.submit(collection, fresh, source=" ".join(sources)) if fresh and is_due else None
        if delete_missing:  # after the submission, which keeps the bytes of a file that only got another name
            _delete(parts, plan.missing)
        if job is not None:
            job = _work(parts, job)
            if as_json:
                echo_json(job)
            else:
                _report(job)
        if not watch:
            break
        time.sleep(WATCH_S)
    _end(job, closed)


def _end(job: "JobView | None", closed: Sequence[Path]) -> None:
    """Raise what the command ends with, unless all went in."""
    if closed:
        raise IngestError("files_failed", f"{len(closed)} files or folders could not be read; the rest are searchable.")
    if job is None:
        raise InvalidRequest("There is nothing to ingest. Name at least one file.")
    if job.files.failed:
        raise IngestError(
            "files_failed", f"{job.files.failed} of {job.files.total} files failed; the rest are searchable."
        )


class _Notices:
    """Says on stderr what is the matter, each thing once for as long as it lasts."""

    def __init__(self) -> None:
        self._standing: set[str] = set()

    def show(self, *notices: Iterable[str]) -> None:
        """Say those that are new, and forget those that are over."""
        now = [notice for each in notices for notice in each]
        for notice in now:
            if notice not in self._standing:
                click.echo(notice, err=True)
        self._standing = set(now)


def _withheld(documents: dict[str, int]) -> list[str]:
    return [
        f"{source} is gone or empty as a whole, as on a disk that is not mounted. Its {count} documents are kept; "
        "if it is meant to be gone, delete them with `folio documents delete`."
        for source, count in documents.items()
    ]


def _as_sites(sources: tuple[str, ...], depth: int | None, max_pages: int) -> tuple[str, ...]:
    from ingest.site import Site

    is_address = [source.lower().startswith(("http://", "https://")) for source in sources]
    if not any(is_address):
        raise click.UsageError("--crawl and --sitemap are for http and https addresses; none is named.")
    return tuple(
        Site(source, depth, max_pages).uri if is_page else source
        for source, is_page in zip(sources, is_address, strict=True)
    )


def _delete(parts: "Services", document_ids: list[str]) -> None:
    for document_id in document_ids:
        with suppress(NotFound):  # somebody else deleted it just now
            parts.documents.delete(document_id)


def _work(parts: "Services", job: "JobView") -> "JobView":
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


def _report(job: "JobView") -> None:
    for item in job.items:
        if item.state == "failed":
            click.echo(f"failed ({item.reason_code}) {item.catalog_uri}: {item.reason}", err=True)
    counts = job.files
    click.echo(
        f"{counts.done} added, {counts.unchanged} unchanged, {counts.failed} failed; searchable now. Job {job.id}"
    )
