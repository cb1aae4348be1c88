"""The way in: files, paths, URLs and texts become a job; jobs can be looked at, cancelled and tried again.

Submitting stores the bytes and writes the job to the catalog; the worker does the rest.
"""

import hashlib
import io
import json
from collections.abc import Sequence
from typing import BinaryIO

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError as DatabaseIntegrityError

from folio.catalog import Catalog
from folio.catalog.models import Collection, IdempotencyRecord, IngestItem, IngestJob, now
from folio.errors import Conflict, InvalidRequest, NotFound
from folio.settings import Settings
from ingest.jobs import UNFINISHED, describe_job
from ingest.parsers.registry import media_type_of
from ingest.queue import ItemQueue
from ingest.sources import collect_paths, is_url
from ingest.storage import FileStorage
from ingest.views import IncomingFile, JobView, StoredFile
from retrieval.collections import Collections
from retrieval.search import Searcher

__all__ = ["IncomingFile", "Ingestion", "JobView", "StoredFile"]


class Ingestion:
    """Submits and follows jobs. Building it is cheap."""

    def __init__(self, catalog: Catalog, settings: Settings, collections: Collections, searcher: Searcher) -> None:
        self._catalog = catalog
        self._settings = settings
        self._collections = collections
        self._searcher = searcher
        self._storage = FileStorage(settings.files_dir)
        self._opened_queue: ItemQueue | None = None

    @property
    def _queue(self) -> ItemQueue:
        if self._opened_queue is None:
            self._opened_queue = ItemQueue(self._settings)
        return self._opened_queue

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
        created_by: str = "",
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
            return self.job(known)
        job = IngestJob(collection_id=info.id, source=source, created_by=created_by)
        job.items = [_item(ordinal, file) for ordinal, file in enumerate(files)]
        try:
            with self._catalog.write() as session:
                session.add(job)
                session.flush()
                if idempotency_key:
                    record = {"job_id": job.id}
                    session.add(IdempotencyRecord(key=idempotency_key, request_sha256=request_sha256, response=record))
                job_id, item_ids = job.id, [item.id for item in job.items]
        except DatabaseIntegrityError:  # the same key came twice at the same moment
            known = self._known(idempotency_key, request_sha256)
            if known is None:
                raise
            return self.job(known)
        self._queue.put(item_ids)
        return self.job(job_id)

    def submit_paths(self, collection: str, paths: Sequence[str], *, created_by: str = "") -> JobView:
        """Make a job of files, folders, globs and URLs.

        Raises:
            InvalidRequest: a path is not there, or nothing was found.
        """
        files = self.collect(paths)
        return self.submit(collection, files, source=" ".join(paths), created_by=created_by)

    def collect(self, paths: Sequence[str]) -> list[IncomingFile]:
        """The files below `paths`, their bytes stored; URLs are fetched by the worker.

        Raises:
            InvalidRequest: a path is not there, or a file is too large.
        """
        files = [self._url_file(path) for path in paths if is_url(path)]
        limit = self._settings.max_file_mib * 2**20
        for found in collect_paths([path for path in paths if not is_url(path)]):
            with found.path.open("rb") as stream:
                stored = self._storage.store(stream, filename=str(found.path), max_bytes=max(limit, found.size_bytes))
            files.append(
                IncomingFile(
                    uri=found.uri,
                    title=found.path.name,
                    media_type=media_type_of(found.path.name),
                    sha256=stored.sha256,
                    size_bytes=stored.size_bytes,
                    source_modified_at=found.modified_at,
                )
            )
        return files

    def submit_url(
        self,
        collection: str,
        url: str,
        *,
        tags: Sequence[str] = (),
        meta: dict[str, str] | None = None,
        created_by: str = "",
        idempotency_key: str = "",
    ) -> JobView:
        """Make a job of one address; the worker fetches it."""
        file = self._url_file(url, tags=list(tags), meta=meta or {})
        return self.submit(collection, [file], source=url, created_by=created_by, idempotency_key=idempotency_key)

    def submit_text(
        self,
        collection: str,
        title: str,
        text: str,
        *,
        tags: Sequence[str] = (),
        meta: dict[str, str] | None = None,
        created_by: str = "",
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
        return self.submit(collection, [file], source="text", created_by=created_by, idempotency_key=idempotency_key)

    def job(self, job_id: str) -> JobView:
        """A job as it stands now.

        Raises:
            NotFound: there is none with this id.
        """
        with self._catalog.read() as session:
            job = session.get(IngestJob, job_id)
            if job is None:
                raise NotFound(f"There is no job {job_id!r}.")
            return describe_job(session, job)

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
            return [describe_job(session, job) for job in session.scalars(query)]

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
            again = [item for item in job.items if item.state in ("failed", "cancelled")]
            if not again:
                raise Conflict("No file of this job failed or was cancelled; there is nothing to try again.")
            for item in again:
                item.state, item.stage, item.attempts, item.worker = "queued", "", 0, ""
                item.reason_code, item.reason, item.finished_at = "", "", None
            job.state, job.finished_at = "queued", None
            item_ids = [item.id for item in again]
        self._queue.put(item_ids)
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
        return IncomingFile(
            uri=url, title=url, media_type="", sha256="", size_bytes=0, tags=tags or [], meta=meta or {}
        )


def _item(ordinal: int, file: IncomingFile) -> IngestItem:
    return IngestItem(
        ordinal=ordinal,
        uri=file.uri[:2000],
        title=file.title[:1000],
        media_type=file.media_type[:200],
        sha256=file.sha256,
        size_bytes=file.size_bytes,
        source_modified_at=file.source_modified_at,
        options={"tags": list(file.tags), "meta": dict(file.meta)},
    )


def _fingerprint(collection_id: str, files: Sequence[IncomingFile]) -> str:
    said = [collection_id, *([file.uri, file.sha256, sorted(file.tags), sorted(file.meta.items())] for file in files)]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()
