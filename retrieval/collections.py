"""Collections: their names, their counts, and the embedding model each is bound to.

A collection is searched and written only with the model that embedded it; `require_embedder` is that guard.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError as DatabaseIntegrityError
from sqlalchemy.orm import Session

from folio.audit import record
from folio.catalog import Catalog
from folio.catalog.models import Chunk, Collection, Document, IndexChange, IngestItem, IngestJob
from folio.errors import Conflict, EmbedderMismatch, InvalidRequest, NotFound
from retrieval.embedder import Embedder

DEFAULT_COLLECTION = "default"
_NAME = re.compile(r"[^\W_][\w .-]{0,99}")


@dataclass(frozen=True)
class CollectionInfo:
    """A collection with its counts. `languages` are those of its documents, most frequent first."""

    id: str
    name: str
    description: str
    documents: int
    chunks: int
    embedding_model: str
    embedding_fingerprint: str
    dimension: int
    languages: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True)
class DeletedCollection:
    """What a deletion removed."""

    id: str
    name: str
    documents: int
    chunks: int


class Collections:
    """The collections of one catalog. New ones are bound to `embedder`."""

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        self._catalog = catalog
        self._embedder = embedder

    def get(self, name: str) -> CollectionInfo:
        """The collection of that name.

        Raises:
            NotFound: there is none.
        """
        with self._catalog.read() as session:
            return _describe(session, _named(session, name))

    def list(
        self, *, limit: int | None = None, after: str = "", among: Iterable[str] | None = None
    ) -> list[CollectionInfo]:
        """Collections by name: the first `limit` (None means all) that come after the name `after`.

        Args:
            among: names that may be listed; None means every name.
        """
        wanted = select(Collection).where(Collection.name > after).order_by(Collection.name).limit(limit)
        if among is not None:
            wanted = wanted.where(Collection.name.in_(sorted(among)))
        with self._catalog.read() as session:
            return [_describe(session, row) for row in session.scalars(wanted)]

    def create(self, name: str, description: str = "") -> CollectionInfo:
        """A new, empty collection bound to the configured embedding model.

        Raises:
            InvalidRequest: the name has characters that a name may not have.
            Conflict: the name is taken.
        """
        if not _NAME.fullmatch(name):
            raise InvalidRequest(
                f"{name!r} can't name a collection: use 1 to 100 letters, digits, spaces, dots, hyphens or "
                "underscores, beginning with a letter or digit."
            )
        row = Collection(
            name=name,
            description=description,
            embedding_model=self._embedder.name,
            embedding_fingerprint=self._embedder.fingerprint,
            dimension=self._embedder.dimension,
        )
        try:
            with self._catalog.write() as session:
                session.add(row)
                session.flush()
                record(session, "collection.create", name)
                return _describe(session, row)
        except DatabaseIntegrityError as exc:
            raise Conflict(f"There is already a collection named {name!r}. Choose another name.") from exc

    def get_or_create(self, name: str) -> CollectionInfo:
        """The collection of that name, made if it is not there.

        Raises:
            InvalidRequest: the name has characters that a name may not have.
        """
        try:
            return self.get(name)
        except NotFound:
            pass
        try:
            return self.create(name)
        except Conflict:  # another process made it between the two calls
            return self.get(name)

    def delete(self, name: str) -> DeletedCollection:
        """Remove a collection with its documents, chunks, jobs and answers. Its index files go at the next sweep.

        Raises:
            NotFound: there is none of that name.
        """
        with self._catalog.write() as session:
            row = _named(session, name, lock=True)
            # Items before their jobs, which is the order in which workers lock them.
            jobs = select(IngestJob.id).where(IngestJob.collection_id == row.id)
            items = select(IngestItem.id).where(IngestItem.job_id.in_(jobs)).order_by(IngestItem.id)
            session.execute(items.with_for_update())
            info = _describe(session, row)
            session.execute(delete(IndexChange).where(IndexChange.collection_id == row.id))
            session.execute(delete(Collection).where(Collection.id == row.id))
            record(session, "collection.delete", info.name, documents=info.documents)
        return DeletedCollection(id=info.id, name=info.name, documents=info.documents, chunks=info.chunks)

    def require_embedder(self, info: CollectionInfo) -> None:
        """Check that the configured model made this collection's vectors.

        Raises:
            EmbedderMismatch: another model did; the message says how to go on.
        """
        require_fingerprint(info.name, info.embedding_model, info.embedding_fingerprint, self._embedder)


def require_fingerprint(collection: str, model: str, fingerprint: str, embedder: Embedder) -> None:
    """Check that `embedder` has the fingerprint a collection was embedded with.

    Raises:
        EmbedderMismatch: it has not; the message says how to go on.
    """
    if fingerprint != embedder.fingerprint:
        raise EmbedderMismatch(
            f"Collection {collection!r} was embedded with {model!r}, but the configured model is {embedder.name!r} "
            f"and its vectors can't be compared. Set FOLIO_EMBEDDING_MODEL to {model!r} and restart, or move the "
            f"collection to the other model: `folio reindex --embed MODEL --collection {collection}`."
        )


def _named(session: Session, name: str, *, lock: bool = False) -> Collection:
    query = select(Collection).where(Collection.name == name)
    row = session.scalar(query.with_for_update() if lock else query)
    if row is None:
        raise NotFound(f"There is no collection named {name!r}. `folio collections` lists those there are.")
    return row


def _describe(session: Session, row: Collection) -> CollectionInfo:
    documents = session.scalar(select(func.count()).where(Document.collection_id == row.id)) or 0
    chunks = session.scalar(select(func.count()).where(Chunk.collection_id == row.id)) or 0
    counted = select(Document.language).where(Document.collection_id == row.id, Document.language != "")
    languages = session.scalars(counted.group_by(Document.language).order_by(func.count().desc()))
    return CollectionInfo(
        id=row.id,
        name=row.name,
        description=row.description,
        documents=documents,
        chunks=chunks,
        embedding_model=row.embedding_model,
        embedding_fingerprint=row.embedding_fingerprint,
        dimension=row.dimension,
        languages=tuple(languages),
        created_at=row.created_at,
    )
