"""Documents as users see them: list, text, chunks, original file; and deletion with a receipt."""

import builtins
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from folio.addresses import ShownAddress
from folio.audit import record
from folio.catalog import Catalog
from folio.catalog.models import Chunk, Collection, Document, IndexChange
from folio.catalog.withdrawal import answers_mentioning, withdraw_answers
from folio.errors import NotFound
from folio.settings import Settings
from ingest.boxes import Box, span_boxes
from ingest.leftovers import is_needed, release
from ingest.storage import FileStorage
from retrieval.changes import lock_changes
from retrieval.search import Searcher


class DocumentView(BaseModel):
    """A document without its text. `uri` is its address; `chunks` and `pages` are counts."""

    id: str
    collection: str
    uri: ShownAddress
    catalog_uri: str = Field("", exclude=True)  # of a file, where it lies on the server: in no reply
    title: str
    media_type: str
    sha256: str
    size_bytes: int
    version: int
    status: str
    language: str
    chunks: int
    pages: int
    tags: list[str]
    meta: dict[str, Any]
    created_at: datetime
    updated_at: datetime


class DocumentPage(BaseModel):
    """Some documents; `next_cursor` leads to the following ones."""

    items: list[DocumentView]
    next_cursor: str | None
    total: int


class DocumentText(BaseModel):
    """The canonical text; `pages` holds `[start, end)` of each page in characters."""

    text: str
    pages: list[list[int]]


class ChunkView(BaseModel):
    """A chunk: `text == document.text[start:end]`."""

    id: int
    ordinal: int
    start: int
    end: int
    page_start: int | None
    page_end: int | None
    heading_path: list[str]
    token_count: int
    text: str


class DeletionReceipt(BaseModel):
    """What a deletion removed and what was looked at afterwards; `verified` when no place returns the document.

    `checked` has an entry for the catalog, its chunks, both indexes (`dense`, `lexical`), the stored files (True also
    when other documents or waiting files have the very same bytes, which `file_shared` says) and the answers of
    conversations. `answers_withdrawn` counts answers that lost their text or a passage.
    """

    document_id: str
    chunks_removed: int
    answers_withdrawn: int
    file_shared: bool
    verified: bool
    checked: dict[str, bool]


class Documents:
    """The documents of all collections."""

    def __init__(self, catalog: Catalog, settings: Settings, searcher: Searcher) -> None:
        self._catalog = catalog
        self._searcher = searcher
        self._storage = FileStorage(settings.files_dir)

    def list(self, collection: str, *, query: str = "", limit: int = 50, cursor: str | None = None) -> DocumentPage:
        """Documents of a collection by title, those whose title or address holds `query`.

        Raises:
            NotFound: there is no such collection.
        """
        with self._catalog.read() as session:
            collection_id = session.scalar(select(Collection.id).where(Collection.name == collection))
            if collection_id is None:
                raise NotFound(f"There is no collection named {collection!r}.")
            wanted = select(Document).where(Document.collection_id == collection_id)
            if query:
                wanted = wanted.where(
                    or_(
                        Document.title.icontains(query, autoescape=True),
                        Document.address.icontains(query, autoescape=True),
                    )
                )
            total = session.scalar(select(func.count()).select_from(wanted.subquery())) or 0
            last = session.get(Document, cursor) if cursor else None
            if last is not None:
                wanted = wanted.where(
                    (Document.title > last.title) | ((Document.title == last.title) & (Document.id > last.id))
                )
            rows = session.scalars(wanted.order_by(Document.title, Document.id).limit(limit + 1)).all()
            items = [self._describe(session, row, collection) for row in rows[:limit]]
        return DocumentPage(items=items, next_cursor=items[-1].id if len(rows) > limit else None, total=total)

    def get(self, document_id: str) -> DocumentView:
        """A document.

        Raises:
            NotFound: there is none with this id.
        """
        with self._catalog.read() as session:
            row = _required(session, document_id)
            name = session.scalar(select(Collection.name).where(Collection.id == row.collection_id)) or ""
            return self._describe(session, row, name)

    def text(self, document_id: str) -> DocumentText:
        """A document's canonical text.

        Raises:
            NotFound: there is none with this id.
        """
        with self._catalog.read() as session:
            row = _required(session, document_id)
            return DocumentText(text=row.text, pages=row.pages)

    def chunks(self, document_id: str) -> builtins.list[ChunkView]:
        """A document's chunks, in reading order.

        Raises:
            NotFound: there is no document with this id.
        """
        with self._catalog.read() as session:
            _required(session, document_id)
            rows = session.scalars(select(Chunk).where(Chunk.document_id == document_id).order_by(Chunk.ordinal)).all()
            return [ChunkView.model_validate(row, from_attributes=True) for row in rows]

    def file(self, document_id: str) -> tuple[Path, str, str]:
        """Where a document's original bytes lie, its media type and its file name.

        Raises:
            NotFound: there is no such document, or its file is gone.
        """
        document = self.get(document_id)
        path = self._storage.path(document.sha256)
        if not path.is_file():
            raise NotFound(f"The original file of {document.title!r} is gone; its text is still there.")
        name = document.uri.rsplit("/", 1)[-1].split(":", 1)[-1] or document.title
        return path, document.media_type, name

    def page_boxes(self, document_id: str, page: int, start: int, end: int) -> builtins.list[Box]:
        """Where characters `[start, end)` stand on a page of a PDF; empty for other documents.

        Raises:
            NotFound: there is no such document.
        """
        with self._catalog.read() as session:
            row = _required(session, document_id)
            if row.media_type != "application/pdf" or not 1 <= page <= len(row.pages):
                return []
            first, last = row.pages[page - 1]
            before = row.text[first : max(start, first)]
            wanted = row.text[max(start, first) : min(end, last)]
            sha256 = row.sha256
        return span_boxes(self._storage.path(sha256), page, before, wanted)

    def delete(self, document_id: str) -> DeletionReceipt:
        """Delete a document, then look everywhere whether it is really gone.

        Raises:
            NotFound: there is none with this id.
        """
        with self._catalog.write() as session:
            collection_id = _required(session, document_id).collection_id
            lock_changes(session, collection_id)
            row = _required(session, document_id)  # as it is now that nobody else can change or delete it
            sha256, uri = row.sha256, row.uri
            name = session.scalar(select(Collection.name).where(Collection.id == collection_id))
            removed = session.scalar(select(func.count()).where(Chunk.document_id == document_id)) or 0
            session.execute(delete(Chunk).where(Chunk.document_id == document_id))
            session.execute(delete(Document).where(Document.id == document_id))
            session.add(IndexChange(collection_id=collection_id, document_id=document_id, kind="delete"))
            withdrawn = withdraw_answers(session, collection_id, document_id)
            record(session, "document.delete", document_id, collection=name, uri=uri)
        # Only now: if that transaction fails, the document still has its file.
        release(self._catalog, self._storage, [sha256])
        file_shared, checked = self._look_everywhere(document_id, collection_id, sha256)
        return DeletionReceipt(
            document_id=document_id,
            chunks_removed=removed,
            answers_withdrawn=withdrawn,
            file_shared=file_shared,
            verified=all(checked.values()),
            checked=checked,
        )

    def _look_everywhere(self, document_id: str, collection_id: str, sha256: str) -> tuple[bool, dict[str, bool]]:
        with self._catalog.read() as session:
            name = session.scalar(select(Collection.name).where(Collection.id == collection_id))
            shared = is_needed(session, sha256)
            chunks = session.scalar(select(func.count()).where(Chunk.document_id == document_id)) or 0
            checked = {
                "catalog": session.get(Document, document_id) is None,
                "chunks": chunks == 0,
                "files": shared or not self._storage.path(sha256).exists(),
                "conversations": answers_mentioning(session, collection_id, document_id) == 0,
            }
        if name is not None:  # else the whole collection was deleted meanwhile, and its indexes with it
            found = self._searcher.contains_document(name, document_id)
            checked |= {index: not contained for index, contained in found.items()}
        return shared, checked

    @staticmethod
    def _describe(session: Session, row: Document, collection: str) -> DocumentView:
        chunks = session.scalar(select(func.count()).where(Chunk.document_id == row.id)) or 0
        return DocumentView(
            id=row.id, collection=collection, uri=row.address, catalog_uri=row.uri, title=row.title,
            media_type=row.media_type, sha256=row.sha256, size_bytes=row.size_bytes, version=row.version,
            status=row.status, language=row.language, chunks=chunks, pages=len(row.pages), tags=row.tags, meta=row.meta,
            created_at=row.created_at, updated_at=row.updated_at,
        )  # fmt: skip


def _required(session: Session, document_id: str) -> Document:
    row = session.get(Document, document_id, populate_existing=True)
    if row is None:
        raise NotFound(f"There is no document {document_id!r}.")
    return row
