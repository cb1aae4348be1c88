"""The way in: files, paths, URLs and texts become a job; jobs can be looked at, cancelled and tried again.

Submitting stores the bytes and writes the job to the catalog; the worker does the rest.
"""

import hashlib
import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError as DatabaseIntegrityError

from folio.actor import current_actor
from folio.addresses import readable
from folio.audit import record
from folio.catalog import Catalog
from folio.catalog.locks import Turn, wait_turn
from folio.catalog.models import Collection, IdempotencyRecord, IngestItem, IngestJob, now
from folio.errors import Conflict, InvalidRequest, NotFound
from folio.settings import Settings
from ingest.fetch import check_url
from ingest.jobs import LISTED_ITEMS, SHOWN_ITEMS, UNFINISHED, describe_job, page_items
from ingest.leftovers import release
from ingest.parsers.registry import media_type_of
from ingest.queue import ItemQueue
from ingest.reading import reading_fingerprint
from ingest.site import Site
from ingest.sources import (
    FoundFile,
    LeftOut,
    collect_paths,
    ignore_left_out,
    is_url,
    refuse_missing,
    refuse_unreadable,
)
from ingest.storage import FileStorage, hash_file
from ingest.submission import require_files, write_job
from ingest.views import IncomingFile, ItemPage, JobView, StoredFile
from retrieval.collections import Collections

__all__ = ["IncomingFile", "Ingestion", "JobView", "StoredFile"]


class Ingestion:
    """Submits and follows jobs. Building it is cheap."""

    def __init__(self, catalog: Catalog, settings: Settings, collections: Collections) -> None:
        self._catalog = catalog
        self._settings = settings
        self._collections = collections
        self._storage = FileStorage(settings.files_dir)
        self._opened_queue: ItemQueue | None = None

    @property
    def _queue(self) -> ItemQueue:
        if self._opened_queue is None:
            self._opened_queue = ItemQueue(self._settings)
        return self._opened_queue

    def close(self) -> None:
        """Close the queue's connections."""
        if self._opened_queue is not None:
            self._opened_queue.close()

    def store_upload(self, stream: BinaryIO, *, filename: str, max_bytes: int) -> StoredFile:
        """Keep the bytes of an upload.

        Raises:
            InvalidRequest: the file is larger than `max_bytes`.
        """
        return self._storage.store(stream, filename=filename, max_bytes=max_bytes)

    def submit(
        self,
        collection: str,
        files: Sequence[IncomingFile],
        *,
        source: str = "",
        idempotency_key: str = "",
    ) -> JobView:
        """Make a job of stored files. The same `idempotency_key` gives the same job again.

        Raises:
            InvalidRequest: there is no file.
            Conflict: the key was used for other files.
            EmbedderMismatch: the collection was embedded by another model.
        """
        if not files:
            raise InvalidRequest("There is nothing to ingest. Name at least one file.")
        info = self._collections.get_or_create(collection)
        self._collections.require_embedder(info)
        request_sha256 = _fingerprint(info.id, files)
        known = self._known(idempotency_key, request_sha256)
        if known is not None:
            return self._sent_before(known, files)
        job = IngestJob(collection_id=info.id, source=source, actor=current_actor())
        try:
            with self._catalog.write() as session:
                wait_turn(session, Turn.FILES)
                require_files(self._storage, files)
                submission = write_job(session, job, files, reading_fingerprint(self._settings))
                record(session, "documents.ingest", submission.job_id, collection=info.name, files=len(files))
                if idempotency_key:
                    said = {"job_id": submission.job_id}
                    session.add(IdempotencyRecord(key=idempotency_key, request_sha256=request_sha256, response=said))
        except DatabaseIntegrityError:  # the same key came twice at the same moment
            known = self._known(idempotency_key, request_sha256)
            if known is None:
                raise
            return self._sent_before(known, files)
        release(self._catalog, self._storage, submission.unneeded)
        self._queue.put(submission.waiting)
        return self.job(submission.job_id)

    def submit_paths(self, collection: str, paths: Sequence[str]) -> JobView:
        """Make a job of files, folders, globs and URLs.

        Raises:
            InvalidRequest: a path is not there, or nothing was found.
        """
        files = self.collect(paths)
        return self.submit(collection, files, source=readable(" ".join(paths)))

    def collect(
        self,
        paths: Sequence[str],
        *,
        store: bool = True,
        on_missing: Callable[[str], None] = refuse_missing,
        on_unreadable: Callable[[Path], None] = refuse_unreadable,
        on_left_out: Callable[[LeftOut], None] = ignore_left_out,
    ) -> list[IncomingFile]:
        """The files below `paths`; URLs are fetched by the worker. A file that vanishes meanwhile is passed over.

        Args:
            store: keep the bytes, as a job needs them; False only looks, and writes nothing.
            on_missing: what to do about a path that is not there.
            on_unreadable: what to do about a file or folder that may not be read.
            on_left_out: what to do about what lies in a folder and is not taken.

        Raises:
            InvalidRequest: a path is not there or may not be read, and nothing else was given to do about it.
        """
        files = [self._url_file(path) for path in paths if is_url(path)]
        named = [path for path in paths if not is_url(path)]
        found = collect_paths(named, on_missing, on_unreadable, on_left_out)
        limit = self._settings.max_file_mib * 2**20
        with self._storage.batch() as batch:
            for each in found:  # one that is too large is taken nevertheless, so that its job can say so
                try:
                    if store:
                        stored = batch.add(each.path, max_bytes=max(limit, 2 * each.size_bytes))
                        sha256, size_bytes = stored.sha256, stored.size_bytes
                    else:
                        sha256, size_bytes = hash_file(each.path)
                except FileNotFoundError:
                    if each.path.exists():  # it is the storage that is not in order
                        raise
                    if each.is_named:
                        on_missing(each.source)
                except PermissionError:
                    if os.access(each.path, os.R_OK):  # it is the storage that is not in order
                        raise
                    on_unreadable(each.path)
                else:
                    files.append(_found_file(each, sha256, size_bytes))
        return files

    def submit_url(
        self,
        collection: str,
        url: str,
        *,
        tags: Sequence[str] = (),
        meta: dict[str, str] | None = None,
        idempotency_key: str = "",
    ) -> JobView:
        """Make a job of one address; the worker fetches it. A site's pages come by `Site(...).uri` as the address.

        Raises:
            InvalidRequest: it could never be fetched.
        """
        file = self._url_file(url, tags=list(tags), meta=meta or {})
        return self.submit(collection, [file], source=url, idempotency_key=idempotency_key)

    def submit_text(
        self,
        collection: str,
        title: str,
        text: str,
        *,
        tags: Sequence[str] = (),
        meta: dict[str, str] | None = None,
        idempotency_key: str = "",
    ) -> JobView:
        """Make a job of a text; its title is its identity within the collection.

        Raises:
            InvalidRequest: the text is empty.
        """
        if not text.strip():
            raise InvalidRequest("The text is empty.")
        limit = self._settings.max_file_mib * 2**20
        stored = self._storage.store(io.BytesIO(text.encode("utf-8", "replace")), filename=title, max_bytes=limit)
        file = IncomingFile(
            uri=f"text:{title}",
            title=title,
            media_type="text/markdown",
            sha256=stored.sha256,
            size_bytes=stored.size_bytes,
            tags=list(tags),
            meta=meta or {},
        )
        return self.submit(collection, [file], source="text", idempotency_key=idempotency_key)

    def job(self, job_id: str, *, items: int = SHOWN_ITEMS) -> JobView:
        """A job as it stands now, with at most `items` of its files.

        Raises:
            NotFound: there is none with this id.
        """
        with self._catalog.read() as session:
            job = session.get(IngestJob, job_id)
            if job is None:
                raise NotFound(f"There is no job {job_id!r}.")
            return describe_job(session, job, items=items)

    def items(self, job_id: str, *, state: str = "", limit: int = 200, after: int = -1) -> ItemPage:
        """Files of a job in their order, page by page.

        Args:
            state: only those in this state; all of them when empty.
            after: `next_after` of the page before.

        Raises:
            NotFound: there is no such job.
        """
        with self._catalog.read() as session:
            if session.get(IngestJob, job_id) is None:
                raise NotFound(f"There is no job {job_id!r}.")
            return page_items(session, job_id, state=state, limit=limit, after=after)

    def jobs(self, collection: str | None = None, *, limit: int = 50, before: str | None = None) -> list[JobView]:
        """Jobs, newest first; `before` is the id of the last job of the page before."""
        with self._catalog.read() as session:
            query = select(IngestJob).order_by(IngestJob.created_at.desc(), IngestJob.id.desc()).limit(limit)
            if collection is not None:
                query = query.join(Collection).where(Collection.name == collection)
            last = session.get(IngestJob, before) if before else None
            if last is not None:
                query = query.where(
                    (IngestJob.created_at < last.created_at)
                    | ((IngestJob.created_at == last.created_at) & (IngestJob.id < last.id))
                )
            return [describe_job(session, job, items=LISTED_ITEMS) for job in session.scalars(query)]

    def cancel(self, job_id: str) -> JobView:
        """Cancel what is not done yet; a file being worked on is given up before it is committed.

        Raises:
            NotFound: there is no such job.
            Conflict: it has finished already.
        """
        with self._catalog.write() as session:
            job = session.get(IngestJob, job_id)
            if job is None:
                raise NotFound(f"There is no job {job_id!r}.")
            if job.state not in UNFINISHED:
                raise Conflict(f"The job is {job.state} already; there is nothing to cancel.")
            session.execute(
                update(IngestItem)
                .where(IngestItem.job_id == job_id, IngestItem.state.in_(UNFINISHED))
                .values(state="cancelled", stage="", worker="", finished_at=now())
            )
            job.state, job.finished_at = "cancelled", now()
            record(session, "job.cancel", job_id)
        return self.job(job_id)

    def retry(self, job_id: str) -> JobView:
        """Try the failed and cancelled files again.

        Raises:
            NotFound: there is no such job.
            Conflict: none of its files failed or was cancelled.
        """
        with self._catalog.write() as session:
            job = session.get(IngestJob, job_id)
            if job is None:
                raise NotFound(f"There is no job {job_id!r}.")
            chosen = (IngestItem.job_id == job_id, IngestItem.state.in_(("failed", "cancelled")))
            item_ids = list(session.scalars(select(IngestItem.id).where(*chosen).order_by(IngestItem.ordinal)))
            if not item_ids:
                raise Conflict("No file of this job failed or was cancelled; there is nothing to try again.")
            fresh = {"stage": "", "worker": "", "reason_code": "", "reason": ""}
            session.execute(
                update(IngestItem).where(*chosen).values(state="queued", attempts=0, finished_at=None, **fresh)
            )
            # Rate and time left are those of this run; the pause before it is not part of them.
            job.state, job.started_at, job.finished_at = "queued", None, None
            record(session, "job.retry", job_id)
        self._queue.put(item_ids)
        return self.job(job_id)

    def _sent_before(self, job_id: str, files: Sequence[IncomingFile]) -> JobView:
        """The job of files that came again by the same key; what it needs no more is not kept again."""
        release(self._catalog, self._storage, {file.sha256 for file in files})
        return self.job(job_id)

    def _known(self, key: str, request_sha256: str) -> str | None:
        if not key:
            return None
        with self._catalog.read() as session:
            record = session.get(IdempotencyRecord, key)
        if record is None:
            return None
        if record.request_sha256 != request_sha256:
            raise Conflict("This Idempotency-Key was used for another request. Use a new key.")
        return str(record.response["job_id"])

    @staticmethod
    def _url_file(url: str, *, tags: list[str] | None = None, meta: dict[str, str] | None = None) -> IncomingFile:
        site = Site.of(url)
        check_url(site.url if site else url)
        return IncomingFile(
            uri=url, title=url, media_type="", sha256="", size_bytes=0, tags=tags or [], meta=meta or {}
        )


def _found_file(found: FoundFile, sha256: str, size_bytes: int) -> IncomingFile:
    return IncomingFile(
        uri=found.uri,
        title=readable(found.path.name),
        media_type=media_type_of(found.path.name),
        sha256=sha256,
        size_bytes=size_bytes,
        source_modified_at=found.modified_at,
        address=found.address,
    )


def _fingerprint(collection_id: str, files: Sequence[IncomingFile]) -> str:
    said = [collection_id, *([file.uri, file.sha256, sorted(file.tags), sorted(file.meta.items())] for file in files)]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()
