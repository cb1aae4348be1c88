"""Writes a finished document to the catalog: document, chunks, change log and item, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import and_, delete, insert, or_, select
from sqlalchemy.orm import Session

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Collection, Document, IndexChange, IngestItem, IngestJob, now
from folio.errors import IngestError
from ingest import reasons
from ingest.chunking import ChunkSpan
from ingest.containers import may_hold_files, whole_containers
from ingest.jobs import settle
from ingest.lease import Lease, LostLease
from ingest.leftovers import release
from ingest.members import Members, replace_members
from ingest.parsed import Parsed
from ingest.storage import FileStorage
from retrieval.changes import lock_changes

OVERTAKEN = "A newer version of this file was added meanwhile; this one was left out."


@dataclass(frozen=True)
class NewDocument:
    """All that is known of a document once its chunks have vectors."""

    title: str
    media_type: str
    language: str
    sha256: str
    size_bytes: int
    parsed: Parsed
    chunks: Sequence[ChunkSpan]
    vectors: Sequence[bytes]
    reused: int
    members: Members = field(default_factory=Members)
    reading: str = ""
    embedding_fingerprint: str = ""


def commit_document(catalog: Catalog, lease: Lease, new: NewDocument, storage: FileStorage) -> str:
    """Make the document searchable. An older version under the same uri is replaced in the same transaction.

    A version older than the one already there (its job waited while a later one was served) is left out.

    Returns:
        The document's id.

    Raises:
        LostLease: the item was cancelled or taken over; nothing was written.
    """
    with catalog.write() as session:
        lock_changes(session, lease.collection_id)  # before the item, as a deletion of the collection does
        item = held_item(session, lease)
        _require_model(session, lease.collection_id, new.embedding_fingerprint)
        document = _present(session, lease)
        if document is not None and _overtaken(session, item, document.id):
            finish_item(session, item, "unchanged", document.id, OVERTAKEN)
            document_id, unneeded = document.id, {lease.sha256}
        elif document is not None and (document.sha256, document.reading) == (new.sha256, new.reading):
            document_id, unneeded = document.id, _open_again(session, item, lease, new, document)
        else:
            document_id, unneeded = _write(session, item, lease, new, document)
    release(catalog, storage, unneeded)
    return document_id


def _write(
    session: Session, item: IngestItem, lease: Lease, new: NewDocument, document: Document | None
) -> tuple[str, set[str]]:
    """The document's id, and SHA-256 of the files that were replaced."""
    replaced = {document.sha256} if document is not None else set()
    document = _document(session, lease, new, document)
    session.flush()
    if document.version > 1:
        session.execute(delete(Chunk).where(Chunk.document_id == document.id))
    rows = [
        chunk_row(lease.collection_id, document.id, ordinal, chunk, vector)
        for ordinal, (chunk, vector) in enumerate(zip(new.chunks, new.vectors, strict=True))
    ]
    session.execute(insert(Chunk), rows)
    session.add(IndexChange(collection_id=lease.collection_id, document_id=document.id, kind="upsert"))
    replaced |= replace_members(session, item, lease, new.members, new.reading, is_document=True)
    finish_item(session, item, "done", document.id, _what_happened(document))
    item.chunks_total = item.chunks_done = len(rows)
    item.chunks_reused = new.reused
    return document.id, replaced


def _open_again(session: Session, item: IngestItem, lease: Lease, new: NewDocument, document: Document) -> set[str]:
    """Take what an unchanged container holds; SHA-256 of the files that were replaced."""
    _describe(document, lease)
    document.address = lease.address
    replaced = replace_members(session, item, lease, new.members, new.reading, is_document=True)
    finish_item(session, item, "unchanged", document.id)
    return replaced


def _describe(document: Document, lease: Lease) -> None:
    """Give a document that stays as it is the tags and metadata that it came with this time."""
    document.tags, document.meta = list(lease.tags) or document.tags, {**document.meta, **lease.meta}


def commit_container(catalog: Catalog, lease: Lease, members: Members, reading: str, storage: FileStorage) -> None:
    """Close an item that holds no text of its own but files, which become items of its job.

    Args:
        reading: the fingerprint of how files are read now.

    Raises:
        LostLease: the item was cancelled or taken over; nothing was written.
        IngestError: `too_large`.
    """
    with catalog.write() as session:
        lock_changes(session, lease.collection_id)  # before the item, as a deletion of the collection does
        item = held_item(session, lease)
        gone = replace_members(session, item, lease, members, reading, is_document=False)
        damaged = sum(not file.sha256 for file in members.files)
        broken = f", {damaged} damaged" if damaged else ""
        taken = len(members.files) - damaged
        said = f"{taken} files inside were taken{broken}, {members.skipped} of other kinds left out."
        finish_item(session, item, "done", "", said)
    # Its members have their own files; its bytes would keep the text of those that are deleted later.
    release(catalog, storage, {*gone, lease.sha256})


def commit_unchanged(catalog: Catalog, lease: Lease, sha256: str, reading: str, storage: FileStorage) -> bool:
    """Close the item when the catalog holds this very content under its uri already, read in the same way.

    Returns:
        Whether it does.

    Raises:
        LostLease: the item was cancelled or taken over.
    """
    with catalog.read() as session:  # most files are new, and need not stand in line to be told so
        if not _is_whole(session, lease, sha256, reading) and _present(session, lease) is None:
            return False
    with catalog.write() as session:
        item = held_item(session, lease)
        document = _present(session, lease)
        if may_hold_files(lease.title or lease.uri, lease.media_type):
            if not _is_whole(session, lease, sha256, reading):
                return False
            if document is None:
                finish_item(session, item, "unchanged", "")
        elif document is None:
            return False
        if document is not None:
            if document.sha256 != sha256 or document.reading != reading:
                return False
            _describe(document, lease)
            finish_item(session, item, "unchanged", document.id)
    if document is None:
        release(catalog, storage, [sha256])
    return True


def _is_whole(session: Session, lease: Lease, sha256: str, reading: str) -> bool:
    """Whether the item is a container that the collection has with all that it holds."""
    if not may_hold_files(lease.title or lease.uri, lease.media_type):
        return False
    opened = whole_containers(session, lease.collection_id, {lease.uri: sha256}, reading).get(lease.uri)
    return opened is not None and opened.came_as(lease.tags, lease.meta, lease.address)


def _require_model(session: Session, collection_id: str, fingerprint: str) -> None:
    """A collection that was moved to another model takes no more vectors of the old one."""
    bound_to = select(Collection.embedding_model, Collection.embedding_fingerprint).where(
        Collection.id == collection_id
    )
    model, wanted = session.execute(bound_to).one()
    if fingerprint and wanted != fingerprint:
        raise IngestError(
            reasons.OTHER_MODEL,
            f"The collection is embedded with {model!r} now. Set FOLIO_EMBEDDING_MODEL to it, restart the worker "
            "and try the file again.",
        )


def _present(session: Session, lease: Lease) -> Document | None:
    return session.scalar(
        select(Document).where(Document.collection_id == lease.collection_id, Document.uri == lease.uri)
    )


def _overtaken(session: Session, item: IngestItem, document_id: str) -> bool:
    """Whether a file submitted after this item has already given the document its content."""
    later_job = IngestJob.created_at > item.job.created_at
    later_in_job = and_(IngestJob.id == item.job_id, IngestItem.ordinal > item.ordinal)
    newer = (
        select(IngestItem.id)
        .join(IngestJob)
        .where(IngestItem.document_id == document_id, IngestItem.state.in_(("done", "unchanged")))
        .where(or_(later_job, later_in_job))
    )
    return session.scalar(newer.limit(1)) is not None


def _what_happened(document: Document) -> str:
    said = [f"Replaced version {document.version - 1} of this document."] if document.version > 1 else []
    if unread := document.meta.get("pages_without_text"):
        said.append(f"Pages without readable text (scans?): {unread}.")
    return " ".join(said)


def held_item(session: Session, lease: Lease) -> IngestItem:
    """The item of a lease, locked.

    Raises:
        LostLease: it was cancelled or taken over.
    """
    item = session.get(IngestItem, lease.item_id, with_for_update=True)
    if item is None or item.state != "running" or item.worker != lease.worker:
        raise LostLease(lease.item_id)
    return item


def _document(session: Session, lease: Lease, new: NewDocument, document: Document | None) -> Document:
    if document is None:
        document = Document(collection_id=lease.collection_id, uri=lease.uri, version=1)
        session.add(document)
    else:
        document.version += 1
    document.address = lease.address
    document.title, document.media_type, document.language = new.title[:1000], new.media_type, new.language
    document.sha256, document.size_bytes = new.sha256, new.size_bytes
    document.text, document.pages = new.parsed.text, [list(page) for page in new.parsed.pages]
    document.tags, document.meta = list(lease.tags), {**new.parsed.meta, **lease.meta}
    document.reading = new.reading
    document.source_modified_at, document.updated_at = lease.source_modified_at, now()
    return document


def chunk_row(collection_id: str, document_id: str, ordinal: int, chunk: ChunkSpan, vector: bytes) -> dict[str, object]:
    """A chunk as the catalog keeps it."""
    return {
        "collection_id": collection_id, "document_id": document_id, "ordinal": ordinal, "start": chunk.start,
        "end": chunk.end, "page_start": chunk.page_start, "page_end": chunk.page_end,
        "heading_path": list(chunk.heading_path), "text": chunk.text, "token_count": chunk.token_count,
        "embedded_sha256": chunk.embedded_sha256, "vector": vector,
    }  # fmt: skip


def finish_item(session: Session, item: IngestItem, state: str, document_id: str, said: str = "") -> None:
    """Close an item, and its job with it when it is the last; `said` is told to the reader of the job."""
    item.state, item.stage, item.document_id, item.finished_at = state, "", document_id, now()
    item.reason_code, item.reason = "", said
    session.flush()
    settle(session, item.job_id, now())
