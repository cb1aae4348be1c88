"""Writes a finished document to the catalog: document, chunks, change log and item, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Collection, Document, IndexChange, IngestItem, now
from ingest.chunking import ChunkSpan
from ingest.jobs import settle
from ingest.lease import Lease, LostLease
from ingest.members import Members, replace_members
from ingest.parsed import Parsed


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


def commit_document(catalog: Catalog, lease: Lease, new: NewDocument) -> str:
    """Make the document searchable. An older version under the same uri is replaced in the same transaction.

    Returns:
        The document's id.

    Raises:
        LostLease: the item was cancelled or taken over; nothing was written.
    """
    with catalog.write() as session:
        item = _held_item(session, lease)
        # The row lock makes change numbers of one collection ascend in the order of their commits on PostgreSQL too.
        session.execute(select(Collection.id).where(Collection.id == lease.collection_id).with_for_update())
        document = _document(session, lease, new)
        session.flush()
        session.execute(delete(Chunk).where(Chunk.document_id == document.id))
        rows = [
            _chunk_row(lease.collection_id, document.id, ordinal, chunk, vector)
            for ordinal, (chunk, vector) in enumerate(zip(new.chunks, new.vectors, strict=True))
        ]
        session.execute(insert(Chunk), rows)
        session.add(IndexChange(collection_id=lease.collection_id, document_id=document.id, kind="upsert"))
        replace_members(session, lease, new.members)
        _finish(session, item, "done", document.id)
        item.chunks_total = item.chunks_done = len(rows)
        item.chunks_reused = new.reused
        return document.id


def commit_container(catalog: Catalog, lease: Lease, members: Members) -> None:
    """Close an item that holds no text of its own but files, which become items of its job.

    Raises:
        LostLease: the item was cancelled or taken over; nothing was written.
        IngestError: `too_large`.
    """
    with catalog.write() as session:
        item = _held_item(session, lease)
        replace_members(session, lease, members)
        _finish(session, item, "done", "")
        item.reason = f"{len(members.files)} files inside were taken, {members.skipped} of other kinds left out."


def commit_unchanged(catalog: Catalog, lease: Lease, sha256: str) -> bool:
    """Close the item when the catalog holds this very content under its uri already; False when it does not.

    Raises:
        LostLease: the item was cancelled or taken over.
    """
    with catalog.write() as session:
        item = _held_item(session, lease)
        document = session.scalar(
            select(Document).where(
                Document.collection_id == lease.collection_id, Document.uri == lease.uri, Document.sha256 == sha256
            )
        )
        if document is None:
            return False
        document.tags, document.meta = list(lease.tags) or document.tags, dict(lease.meta) or document.meta
        _finish(session, item, "unchanged", document.id)
        return True


def _held_item(session: Session, lease: Lease) -> IngestItem:
    item = session.get(IngestItem, lease.item_id, with_for_update=True)
    if item is None or item.state != "running" or item.worker != lease.worker:
        raise LostLease(lease.item_id)
    return item


def _document(session: Session, lease: Lease, new: NewDocument) -> Document:
    document = session.scalar(
        select(Document).where(Document.collection_id == lease.collection_id, Document.uri == lease.uri)
    )
    if document is None:
        document = Document(collection_id=lease.collection_id, uri=lease.uri, version=1)
        session.add(document)
    else:
        document.version += 1
    document.title, document.media_type, document.language = new.title[:1000], new.media_type, new.language
    document.sha256, document.size_bytes = new.sha256, new.size_bytes
    document.text, document.pages = new.parsed.text, [list(page) for page in new.parsed.pages]
    document.tags, document.meta = list(lease.tags), {**new.parsed.meta, **lease.meta}
    document.source_modified_at, document.updated_at = lease.source_modified_at, now()
    return document


def _chunk_row(
    collection_id: str, document_id: str, ordinal: int, chunk: ChunkSpan, vector: bytes
) -> dict[str, object]:
    return {
        "collection_id": collection_id, "document_id": document_id, "ordinal": ordinal, "start": chunk.start,
        "end": chunk.end, "page_start": chunk.page_start, "page_end": chunk.page_end,
        "heading_path": list(chunk.heading_path), "text": chunk.text, "token_count": chunk.token_count,
        "embedded_sha256": chunk.embedded_sha256, "vector": vector,
    }  # fmt: skip


def _finish(session: Session, item: IngestItem, state: str, document_id: str) -> None:
    item.state, item.stage, item.document_id, item.finished_at = state, "", document_id, now()
    item.reason_code, item.reason = "", ""
    session.flush()
    settle(session, item.job_id, now())
