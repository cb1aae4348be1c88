"""What the catalog says has changed since an index last looked, read in one consistent transaction."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import func, select
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.elements import ColumnElement

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Collection, Document, IndexChange

BATCH = 1000  # rows read at once; bounds the memory of a rebuild


@dataclass(frozen=True)
class ChunkRecord:
    """A chunk as the indexes take it. `vector` holds float16 bytes."""

    id: int
    document_id: str
    language: str
    title: str
    heading_path: tuple[str, ...]
    text: str
    vector: bytes


@dataclass(frozen=True)
class Changes:
    """The documents touched up to `sequence`, and the chunks that those still there now have."""

    sequence: int
    documents: tuple[str, ...]
    chunks: tuple[ChunkRecord, ...]


def newest_of(collection_id: ColumnElement[str] | InstrumentedAttribute[str] | str) -> ColumnElement[int]:
    """The number of a collection's last change, 0 before the first, as a column of a query."""
    newest = select(func.max(IndexChange.seq)).where(IndexChange.collection_id == collection_id)
    return func.coalesce(newest.scalar_subquery(), 0)


def newest_sequence(session: Session, collection_id: str) -> int:
    """The number of the collection's last change, 0 before the first."""
    return session.scalar(select(newest_of(collection_id))) or 0


def lock_changes(session: Session, collection_id: str) -> None:
    """Let no other transaction log changes of this collection until this one ends. Call it before adding one.

    On PostgreSQL numbers are given before they are committed; without the row lock a later number could be seen first,
    and whoever has seen it would never look for the earlier. SQLite has one writer at a time anyway.
    """
    session.execute(select(Collection.id).where(Collection.id == collection_id).with_for_update())


def read_changes(catalog: Catalog, collection_id: str, after: int) -> Changes:
    """All that changed after sequence number `after`."""
    with catalog.read() as session:
        # First, so that on a database whose reads are not of one moment nothing later counts as seen.
        newest = newest_sequence(session, collection_id)
        touched = session.scalars(
            select(IndexChange.document_id)
            .where(IndexChange.collection_id == collection_id, IndexChange.seq > after, IndexChange.seq <= newest)
            .distinct()
        ).all()
        chunks = [
            record
            for first in range(0, len(touched), BATCH)
            for record in _records(session, collection_id, touched[first : first + BATCH])
        ]
        return Changes(newest, tuple(touched), tuple(chunks))


@contextmanager
def read_everything(catalog: Catalog, collection_id: str) -> Iterator[tuple[int, int, Iterator[ChunkRecord]]]:
    """The newest sequence, the number of chunks, and all chunks one by one, of one consistent state."""
    with catalog.read() as session:
        count = session.scalar(select(func.count()).where(Chunk.collection_id == collection_id)) or 0
        yield newest_sequence(session, collection_id), count, _records(session, collection_id, None)


def as_matrix(chunks: Sequence[ChunkRecord], dimension: int) -> npt.NDArray[np.float16]:
    """The chunks' vectors, `(len(chunks), dimension)`."""
    joined = b"".join(chunk.vector for chunk in chunks)
    return np.frombuffer(joined, dtype="<f2").reshape(len(chunks), dimension)


def _records(session: Session, collection_id: str, documents: Sequence[str] | None) -> Iterator[ChunkRecord]:
    columns = select(
        Chunk.id, Chunk.document_id, Document.language, Document.title, Chunk.heading_path, Chunk.text, Chunk.vector
    ).join(Document, Document.id == Chunk.document_id)
    query = columns.where(Chunk.collection_id == collection_id).order_by(Chunk.id)
    if documents is not None:
        query = query.where(Chunk.document_id.in_(documents))
    for row in session.execute(query, execution_options={"yield_per": BATCH}):
        yield ChunkRecord(row[0], row[1], row[2], row[3], tuple(row[4]), row[5], row[6])
