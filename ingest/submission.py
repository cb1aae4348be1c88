"""Writes a job to the catalog: one item a file; those whose content the catalog holds already are closed at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from folio.addresses import INSIDE
from folio.catalog.models import Document, IngestItem, IngestJob, new_id, now
from folio.errors import Conflict
from ingest.containers import may_hold_files, whole_containers
from ingest.jobs import UNFINISHED
from ingest.storage import FileStorage
from ingest.views import IncomingFile

LOOKUP_BATCH = 500


@dataclass(frozen=True)
class Submission:
    """A job as written; `waiting` are the ids of items with work to do, `unneeded` SHA-256 of files without any."""

    job_id: str
    waiting: list[str]
    unneeded: set[str]


@dataclass(frozen=True)
class _Known:
    """A document that has an incoming file's uri."""

    id: str
    sha256: str
    reading: str
    tags: list[str]
    meta: dict[str, Any]
    address: str


def write_job(session: Session, job: IngestJob, files: Sequence[IncomingFile], reading: str) -> Submission:
    """Add a job with its items.

    Args:
        reading: how files are read now; a document read otherwise is read again.
    """
    session.add(job)
    session.flush()
    known = _documents(session, job.collection_id, files)
    whole = _whole_containers(session, job.collection_id, files, reading)
    changing = _uris_at_work(session, job.collection_id) if known or whole else set()
    at = now()
    rows = []
    for ordinal, file in enumerate(files):
        row = _row(job.id, ordinal, file)
        document = known.get(row["uri"])
        if may_hold_files(file.title, file.media_type):
            is_same = row["uri"] in whole
        else:
            is_same = document is not None and _is_unchanged(file, document, reading)
        if is_same and row["uri"] not in changing:
            if document is not None:
                _describe_anew(session, document, file)
            document_id = document.id if document is not None else ""
            row |= {"state": "unchanged", "document_id": document_id, "finished_at": at}
        changing.add(row["uri"])  # the same uri again in this job is a newer version
        rows.append(row)
    session.execute(insert(IngestItem), rows)
    waiting = [row["id"] for row in rows if row["state"] == "queued"]
    if not waiting:
        job.state, job.started_at, job.finished_at = "done", at, at
    unneeded = {row["sha256"] for row in rows if row["state"] == "unchanged" and not row["document_id"]}
    return Submission(job.id, waiting, unneeded)


def require_files(storage: FileStorage, files: Sequence[IncomingFile]) -> None:
    """Check that every file's bytes lie in the storage.

    Raises:
        Conflict: one was deleted between its storing and now.
    """
    for file in files:
        if file.sha256 and not storage.path(file.sha256).is_file():
            raise Conflict(f"{file.title} was being deleted at this very moment. Send it again.")


def _is_unchanged(file: IncomingFile, document: _Known, reading: str) -> bool:
    return bool(file.sha256) and file.sha256 == document.sha256 and document.reading == reading


def _whole_containers(session: Session, collection_id: str, files: Sequence[IncomingFile], reading: str) -> set[str]:
    """Uris of the containers that came again as they were, with all that they hold still there."""
    containers = {file.uri: file for file in files if may_hold_files(file.title, file.media_type)}
    if not containers:
        return set()
    wanted = {uri: file.sha256 for uri, file in containers.items()}
    whole = whole_containers(session, collection_id, wanted, reading)
    return {
        uri
        for uri, opened in whole.items()
        if opened.came_as(containers[uri].tags, containers[uri].meta, containers[uri].shown[:2000])
    }


def _describe_anew(session: Session, document: _Known, file: IncomingFile) -> None:
    """Tags, meta and address that came with an unchanged file replace the document's."""
    tags, meta, address = list(file.tags) or document.tags, {**document.meta, **file.meta}, file.shown[:2000]
    if (tags, meta, address) != (document.tags, document.meta, document.address):
        values = {"tags": tags, "meta": meta, "address": address}
        session.execute(update(Document).where(Document.id == document.id).values(values))


def _documents(session: Session, collection_id: str, files: Sequence[IncomingFile]) -> dict[str, _Known]:
    uris = sorted({file.uri for file in files})
    found: dict[str, _Known] = {}
    columns = (
        Document.uri, Document.id, Document.sha256, Document.reading, Document.tags, Document.meta, Document.address,
    )  # fmt: skip
    for first in range(0, len(uris), LOOKUP_BATCH):
        query = select(*columns).where(
            Document.collection_id == collection_id, Document.uri.in_(uris[first : first + LOOKUP_BATCH])
        )
        found |= {row[0]: _Known(*row[1:]) for row in session.execute(query)}
    return found


def _uris_at_work(session: Session, collection_id: str) -> set[str]:
    """Uris of the files that are being changed, and of the containers that those lie in."""
    query = (
        select(IngestItem.uri)
        .join(IngestJob)
        .where(IngestItem.state.in_(UNFINISHED), IngestJob.collection_id == collection_id)
    )
    at_work = [uri.split(INSIDE) for uri in session.scalars(query)]
    return {INSIDE.join(parts[:depth]) for parts in at_work for depth in range(1, len(parts) + 1)}


def _row(job_id: str, ordinal: int, file: IncomingFile) -> dict[str, Any]:
    return {
        "id": new_id(), "job_id": job_id, "ordinal": ordinal, "uri": file.uri[:2000], "address": file.shown[:2000],
        "title": file.title[:1000],
        "media_type": file.media_type[:200], "sha256": file.sha256, "size_bytes": file.size_bytes,
        "source_modified_at": file.source_modified_at, "state": "queued", "document_id": "", "finished_at": None,
        "options": {"tags": list(file.tags), "meta": dict(file.meta)},
    }  # fmt: skip
