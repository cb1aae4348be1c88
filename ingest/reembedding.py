"""Embeds a collection's chunks with another model while the old vectors serve, then switches in one transaction.

New vectors are gathered in a file beside the catalog, by the hash of what was embedded, so that a run that was killed
goes on where it stopped and leaves the collection as it was. Documents that change meanwhile are caught up with.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.orm import Session

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Collection, Document
from folio.errors import Conflict, NotFound
from folio.settings import Settings
from ingest.chunking import Chunker, ChunkSpan
from ingest.commit import chunk_row
from ingest.parsed import Parsed
from retrieval.embedder import Embedder

GROUP = 256  # texts embedded between two writes to the file
CATCH_UPS = 5  # rounds over documents that changed, before giving up on a collection that never rests


@dataclass(frozen=True)
class Reembedded:
    """What was done. `recut` counts documents whose chunks were too long for the new model."""

    collection: str
    model: str
    chunks: int
    recut: int


@dataclass(frozen=True)
class _Plan:
    """A document's chunks under the new model. `ids` are those of the stored chunks, None when it is cut anew."""

    document_id: str
    version: int
    chunks: Sequence[ChunkSpan]
    ids: Sequence[int] | None


class Reembedding:
    """Moves one collection to another embedding model.

    Args:
        embedder: the new model.
        progress: called with the chunks that have their vector and those there are.
    """

    def __init__(
        self, catalog: Catalog, settings: Settings, embedder: Embedder, progress: Callable[[int, int], None]
    ) -> None:
        self._catalog = catalog
        self._embedder = embedder
        self._progress = progress
        self._folder = settings.data_dir / "reembedding"
        self._chunker = Chunker(
            embedder, chunk_tokens=settings.chunk_tokens, overlap_tokens=settings.chunk_overlap_tokens
        )

    def run(self, collection_id: str) -> Reembedded:
        """Embed everything and switch.

        Raises:
            NotFound: there is no such collection.
            Conflict: another process is doing this, or documents changed all the while.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{collection_id}-{self._embedder.fingerprint[:16]}.db"
        try:
            with FileLock(f"{path}.lock", timeout=0), closing(_VectorFile(path)) as vectors:
                result = self._embed_and_switch(collection_id, vectors)
        except Timeout as exc:
            raise Conflict("Another process is embedding this collection with this model already.") from exc
        path.unlink(missing_ok=True)
        return result

    def _embed_and_switch(self, collection_id: str, vectors: "_VectorFile") -> Reembedded:
        plans: dict[str, _Plan] = {}
        for _ in range(CATCH_UPS):
            versions = self._versions(collection_id)
            plans = {key: plan for key, plan in plans.items() if versions.get(key) == plan.version}
            for document_id in versions.keys() - plans.keys():
                plan = self._plan(document_id)
                if plan is not None:
                    plans[document_id] = plan
            self._embed([chunk for plan in plans.values() for chunk in plan.chunks], vectors)
            name = self._switch(collection_id, plans, vectors)
            if name is not None:
                chunks = sum(len(plan.chunks) for plan in plans.values())
                recut = sum(plan.ids is None for plan in plans.values())
                return Reembedded(name, self._embedder.name, chunks, recut)
        raise Conflict(
            "Documents changed each time the new vectors were ready. Pause ingestion and run it again; "
            "what is embedded already is kept."
        )

    def _versions(self, collection_id: str) -> dict[str, int]:
        with self._catalog.read() as session:
            return _versions(session, collection_id)

    def _plan(self, document_id: str) -> _Plan | None:
        with self._catalog.read() as session:
            document = session.get(Document, document_id)
            if document is None:
                return None
            rows = session.scalars(select(Chunk).where(Chunk.document_id == document_id).order_by(Chunk.ordinal)).all()
        kept = [self._kept(document.title, row) for row in rows]
        tokens = self._embedder.count_tokens([chunk.embedded for chunk in kept])
        if max(tokens, default=0) <= self._chunker.reads:
            return _Plan(document.id, document.version, kept, [row.id for row in rows])
        pages = tuple((start, end) for start, end in document.pages)
        parsed = Parsed(document.text, document.title, pages, has_headings=any(row.heading_path for row in rows))
        return _Plan(document.id, document.version, self._chunker.split(parsed, document.title), None)

    def _kept(self, title: str, row: Chunk) -> ChunkSpan:
        path = tuple(row.heading_path)
        tokens = self._embedder.count_tokens([row.text])[0]
        embedded = self._chunker.embedded(title, path, row.text)
        return ChunkSpan(row.start, row.end, row.text, path, row.page_start, row.page_end, tokens, embedded)

    def _embed(self, chunks: Sequence[ChunkSpan], vectors: "_VectorFile") -> None:
        missing = {chunk.embedded_sha256: chunk.embedded for chunk in chunks}
        for key in vectors.keys() & missing.keys():
            del missing[key]
        todo = sorted(missing.items(), key=lambda entry: len(entry[1]), reverse=True)
        done = len(chunks) - len(todo)
        self._progress(done, len(chunks))
        for first in range(0, len(todo), GROUP):
            group = todo[first : first + GROUP]
            rows = self._embedder.embed_documents([text for _, text in group])
            vectors.add((key, np.asarray(row, "<f2").tobytes()) for (key, _), row in zip(group, rows, strict=True))
            self._progress(done + first + len(group), len(chunks))

    def _switch(self, collection_id: str, plans: dict[str, _Plan], vectors: "_VectorFile") -> str | None:
        """Put the new vectors in the place of the old ones; None, and nothing done, when a document has changed."""
        with self._catalog.write() as session:
            row = session.get(Collection, collection_id, with_for_update=True)
            if row is None:
                raise NotFound(f"There is no collection with id {collection_id!r} any more.")
            if _versions(session, collection_id) != {key: plan.version for key, plan in plans.items()}:
                return None
            for plan in plans.values():
                _write(session, collection_id, plan, vectors.of([chunk.embedded_sha256 for chunk in plan.chunks]))
            row.embedding_model = self._embedder.name
            row.embedding_fingerprint = self._embedder.fingerprint
            row.dimension = self._embedder.dimension
            row.calibration = {}
            return row.name


def _versions(session: Session, collection_id: str) -> dict[str, int]:
    rows = session.execute(select(Document.id, Document.version).where(Document.collection_id == collection_id))
    return {document_id: version for document_id, version in rows}  # noqa: C416 - rows are not pairs to dict()


def _write(session: Session, collection_id: str, plan: _Plan, vectors: Sequence[bytes]) -> None:
    rows = [
        chunk_row(collection_id, plan.document_id, ordinal, chunk, vector)
        for ordinal, (chunk, vector) in enumerate(zip(plan.chunks, vectors, strict=True))
    ]
    if plan.ids is None:
        session.execute(delete(Chunk).where(Chunk.document_id == plan.document_id))
        if rows:
            session.execute(insert(Chunk), rows)
        return
    table = Chunk.__table__
    changed = update(table).where(table.c.id == bindparam("chunk_id"))  # type: ignore[arg-type]
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in ("vector", "embedded_sha256", "token_count")}
    parameters = [
        {"chunk_id": chunk_id, **{f"new_{name}": row[name] for name in values}}
        for chunk_id, row in zip(plan.ids, rows, strict=True)
    ]
    if parameters:
        session.connection().execute(changed.values(values), parameters)


class _VectorFile:
    """Vectors by the hash of what was embedded, in a file that survives a kill."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)")

    def keys(self) -> set[str]:
        """Hashes that have their vector."""
        return {key for (key,) in self._connection.execute("SELECT key FROM vectors")}

    def add(self, rows: Iterator[tuple[str, bytes]]) -> None:
        """Keep vectors, all of them or none."""
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def of(self, keys: Sequence[str]) -> list[bytes]:
        """Vectors in the order of `keys`."""
        read = self._connection.execute
        return [read("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()[0] for key in keys]

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
