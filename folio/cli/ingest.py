"""`folio ingest`: add files, folders, globs and URLs to a collection, once or again and again."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from folio.addresses import readable
from folio.errors import IngestError, InvalidRequest, NotFound

if TYPE_CHECKING:
    from folio.cli.ingest_words import Deletion
    from folio.services import Services
    from ingest.comparison import Compared, Comparison
    from ingest.sources import LeftOut
    from ingest.views import IncomingFile, JobView

WATCH_S = 5.0


@dataclass(frozen=True)
class _Wanted:
    """What the command was asked to do."""

    sources: tuple[str, ...]
    collection: str
    dry_run: bool
    delete_missing: bool
    watch: bool
    as_json: bool


@dataclass
class _Look:
    """What one look at the sources found."""

    files: list["IncomingFile"] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    closed: list[Path] = field(default_factory=list)
    left_out: list["LeftOut"] = field(default_factory=list)


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
@click.option("--json", "as_json", is_flag=True, help="Print the finished job, or what would be done, as JSON.")
def ingest(
    sources: tuple[str, ...], collection: str, dry_run: bool, delete_missing: bool, watch: bool, crawl: int | None,
    sitemap: bool, max_pages: int, as_json: bool,
) -> None:  # fmt: skip
    """Add SOURCES (files, folders, globs, http addresses) to a collection; unchanged files cost nothing."""
    from folio.cli.context import services

    if crawl is not None or sitemap:
        sources = _as_sites(sources, None if sitemap else crawl, max_pages)
    wanted = _Wanted(sources, collection, dry_run, delete_missing, watch, as_json)
    rounds = _Rounds(services(), wanted)
    while True:
        rounds.go()
        if not watch or dry_run:
            break
        time.sleep(WATCH_S)
    if not dry_run:
        rounds.end()


class _Rounds:
    """Looks at the sources, and does with what is found as was asked; each call of `go` is a round."""

    def __init__(self, parts: "Services", wanted: _Wanted) -> None:
        from folio.cli.ingest_words import Notices

        self._parts = parts
        self._wanted = wanted
        self._notices = Notices()
        # By uri, so that watching does not try a failed file or an address again and again.
        self._tried: dict[str, str] = {}
        self._disks: dict[str, int] = {}  # that each path was on when it was last there
        self._job: JobView | None = None
        self._deletions: list[Deletion] = []
        self._closed: list[Path] = []

    def go(self) -> None:
        """One look, and what follows from it."""
        from folio.cli import ingest_words as words

        look = self._look()
        plan = self._compare(look)
        wanted = self._wanted
        self._notices.show(
            words.gone(look.gone),
            words.closed(look.closed),
            words.withheld(plan.withheld) if wanted.delete_missing or wanted.dry_run else [],
        )
        if wanted.dry_run:
            words.say_plan(plan, look.left_out, delete_missing=wanted.delete_missing, as_json=wanted.as_json)
        else:
            self._carry_out(look, plan)
        self._notices.show_last(words.left_out(look.left_out))

    def end(self) -> None:
        """Raise what the command ends with, unless all went in."""
        if self._closed:
            raise IngestError(
                "files_failed", f"{len(self._closed)} files or folders could not be read; the rest are searchable."
            )
        if self._job is None:
            if self._deletions:
                return
            raise InvalidRequest("There is nothing to ingest. Name at least one file.")
        files = self._job.files
        if files.failed:
            rest = "; the rest are searchable" if files.done or files.unchanged else ""
            raise IngestError("files_failed", f"{files.failed} of {files.total} files failed{rest}.")

    def _look(self) -> _Look:
        from ingest.sources import disk_of, is_url, refuse_missing

        look = _Look()
        sources = self._wanted.sources
        look.files = self._parts.ingestion.collect(
            sources,
            store=not self._wanted.dry_run,
            on_missing=look.gone.append if self._disks else refuse_missing,
            on_unreadable=look.closed.append,
            on_left_out=look.left_out.append,
        )
        there = {
            source for source in sources if source not in look.gone and Path(source).expanduser() not in look.closed
        }
        self._disks |= {source: disk_of(source) for source in there if not is_url(source)}
        self._closed = look.closed
        return look

    def _compare(self, look: _Look) -> "Comparison":
        from ingest.comparison import compare
        from ingest.reading import reading_fingerprint
        from ingest.sources import disk_of

        away = [source for source in look.gone if disk_of(source) != self._disks.get(source)]
        reading = reading_fingerprint(self._parts.settings)
        wanted = self._wanted
        return compare(self._parts.catalog, wanted.collection, look.files, wanted.sources, reading=reading, away=away)

    def _carry_out(self, look: _Look, plan: "Comparison") -> None:
        from folio.cli import ingest_words as words
        from folio.cli.ingest_work import work

        wanted = self._wanted
        fresh = [file for file in look.files if self._tried.get(file.uri) != file.sha256]
        self._tried = {file.uri: file.sha256 for file in look.files}
        due = {entry.uri for entries in (plan.new, plan.changed, plan.failed_before) for entry in entries}
        is_due = fresh and (not wanted.watch or not due.isdisjoint(file.uri for file in fresh))
        source = readable(" ".join(wanted.sources))
        job = self._parts.ingestion.submit(wanted.collection, fresh, source=source) if is_due else None
        # Deleted after the submission, which keeps the bytes of a file that only got another name.
        deletions = _delete(self._parts, plan.missing) if wanted.delete_missing else []
        if job is not None:
            job = work(self._parts, job)
        words.say_done(job, deletions, look.left_out, as_json=wanted.as_json)
        self._job = job
        self._deletions += deletions


def _as_sites(sources: tuple[str, ...], depth: int | None, max_pages: int) -> tuple[str, ...]:
    from ingest.site import Site

    is_address = [source.lower().startswith(("http://", "https://")) for source in sources]
    if not any(is_address):
        raise click.UsageError("--crawl and --sitemap are for http and https addresses; none is named.")
    return tuple(
        Site(source, depth, max_pages).uri if is_page else source
        for source, is_page in zip(sources, is_address, strict=True)
    )


def _delete(parts: "Services", missing: Sequence["Compared"]) -> list["Deletion"]:
    from folio.cli.ingest_words import Deletion

    deletions = []
    for entry in missing:
        with suppress(NotFound):  # somebody else deleted it just now
            deletions.append(Deletion(entry, parts.documents.delete(entry.document_id)))
    return deletions
