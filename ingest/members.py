"""Files inside files: each member of an archive and each attachment becomes an item of the same job.

A member's uri is `<uri of its container>!/<name>`, so a container that comes again updates its members, and members
that it no longer has are deleted. Depth and number are bounded: an archive that holds itself ends.
"""

import io
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from folio.addresses import INSIDE
from folio.audit import record
from folio.catalog.models import Document, IndexChange, IngestItem, IngestJob, now
from folio.catalog.withdrawal import withdraw_answers
from folio.errors import IngestError
from ingest import reasons
from ingest.containers import may_hold_files, opened_options
from ingest.lease import Lease
from ingest.parsed import MAX_EMBEDDED_BYTES, MAX_EMBEDDED_FILES, Embedded
from ingest.parsers.registry import is_supported, media_type_of
from ingest.storage import FileStorage
from ingest.views import IncomingFile

MAX_DEPTH = 3


@dataclass(frozen=True)
class Members:
    """The files of a container, stored; a damaged one has no hash. `skipped` counts those that Folio can't read."""

    files: tuple[IncomingFile, ...] = ()
    skipped: int = 0


def container_of(uri: str) -> str:
    """The uri of the outermost file that holds this one; the uri itself for a file of its own."""
    return uri.split(INSIDE, 1)[0]


def store_members(lease: Lease, embedded: Sequence[Embedded], storage: FileStorage) -> Members:
    """Keep the bytes of the files inside a file.

    Raises:
        IngestError: `too_deep`.
    """
    if not embedded:
        return Members()
    if lease.depth >= MAX_DEPTH:
        raise IngestError(reasons.TOO_DEEP, f"The file lies {MAX_DEPTH} containers deep and holds further files.")
    files: dict[str, IncomingFile] = {}
    for member in embedded:
        name = posixpath.basename(member.name)
        if not is_supported(name):
            continue
        sha256 = ""
        if not member.is_damaged:
            sha256 = storage.store(io.BytesIO(member.data), filename=name, max_bytes=MAX_EMBEDDED_BYTES).sha256
        uri = f"{lease.uri}{INSIDE}{member.name}"
        files[uri] = IncomingFile(
            uri=uri, title=name, media_type=media_type_of(name), sha256=sha256, size_bytes=len(member.data),
            address=f"{lease.address}{INSIDE}{member.name}",
        )  # fmt: skip
    return Members(tuple(files.values()), skipped=len(embedded) - len(files))


def replace_members(
    session: Session, item: IngestItem, lease: Lease, members: Members, reading: str, *, is_document: bool
) -> set[str]:
    """Add the members to the job as items, and delete the documents of members that are gone.

    What was found inside is noted on `item`, the container's own.

    Args:
        reading: the fingerprint of how files are read now.
        is_document: whether the container has text of its own.

    Returns:
        SHA-256 of the files of the deleted documents.

    Raises:
        IngestError: `too_large` when the outermost container has brought too many files already.
    """
    if members.files:
        _add_items(session, lease, members)
    if members.files or may_hold_files(lease.title or lease.uri, lease.media_type):
        begin = len(f"{lease.uri}{INSIDE}")
        found = {file.uri[begin:2000]: file.sha256 for file in members.files}
        item.options = {**item.options, **opened_options(reading, found, is_document=is_document)}
    return _delete_vanished(session, lease, {file.uri for file in members.files})


def _add_items(session: Session, lease: Lease, members: Members) -> None:
    inside = f"{container_of(lease.uri)}{INSIDE}"
    known = (
        session.scalar(
            select(func.count()).where(
                IngestItem.job_id == lease.job_id, IngestItem.uri.startswith(inside, autoescape=True)
            )
        )
        or 0
    )
    if known + len(members.files) > MAX_EMBEDDED_FILES:
        raise IngestError(reasons.TOO_LARGE, f"The containers hold more than {MAX_EMBEDDED_FILES:,} files. Split them.")
    last = session.scalar(select(func.max(IngestItem.ordinal)).where(IngestItem.job_id == lease.job_id)) or 0
    for ordinal, file in enumerate(members.files, start=last + 1):
        session.add(_item(lease, file, ordinal))


def _item(lease: Lease, file: IncomingFile, ordinal: int) -> IngestItem:
    item = IngestItem(
        job_id=lease.job_id, ordinal=ordinal, uri=file.uri[:2000], address=file.shown[:2000],
        title=file.title[:1000], media_type=file.media_type, sha256=file.sha256, size_bytes=file.size_bytes,
        source_modified_at=lease.source_modified_at,
        options={"tags": list(lease.tags), "meta": lease.meta, "depth": lease.depth + 1},
    )  # fmt: skip
    if not file.sha256:
        item.state, item.finished_at = "failed", now()
        item.reason_code, item.reason = reasons.CORRUPT, "The file is damaged inside its archive."
    return item


def _delete_vanished(session: Session, lease: Lease, present: set[str]) -> set[str]:
    inside = f"{lease.uri}{INSIDE}"
    rows = session.execute(
        select(Document.id, Document.uri, Document.sha256).where(
            Document.collection_id == lease.collection_id, Document.uri.startswith(inside, autoescape=True)
        )
    ).all()
    gone: set[str] = set()
    for document_id, uri, sha256 in rows:
        if not any(uri == kept or uri.startswith(f"{kept}{INSIDE}") for kept in present):
            session.execute(delete(Document).where(Document.id == document_id))
            session.add(IndexChange(collection_id=lease.collection_id, document_id=document_id, kind="delete"))
            withdraw_answers(session, lease.collection_id, document_id)
            by = session.scalar(select(IngestJob.actor).where(IngestJob.id == lease.job_id))
            record(session, "document.delete", document_id, actor=by, uri=uri, job=lease.job_id)
            gone.add(sha256)
    return gone
