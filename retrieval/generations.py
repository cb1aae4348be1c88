"""Publishes, checks and rebuilds index generations; the catalog is the truth they are derived from."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sqlalchemy import delete, func, select

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Collection, IndexChange, IndexGeneration, IngestJob
from folio.errors import IntegrityError, NotFound
from folio.settings import Settings
from retrieval.changes import newest_sequence
from retrieval.embedder import Embedder
from retrieval.generation_files import FORMAT, Generation, GenerationStore, Manifest
from retrieval.lexical import LexicalSnapshot
from retrieval.stored_calibration import StoredCalibrations
from retrieval.working import BASE, DENSE, WorkingIndex

VERIFY_TRIES = 20  # comparisons again when documents were committed between the index's catching up and the count


@dataclass(frozen=True)
class _Target:
    """What a generation is made for."""

    collection_id: str
    fingerprint: str
    dimension: int
    sequence: int


@dataclass(frozen=True)
class _Written:
    """A new generation and its lexical half, open."""

    row: IndexGeneration
    lexical: LexicalSnapshot


class Generations:
    """Writes the generations of every collection below the indexes folder.

    Args:
        embedder: measures, when a generation is published, how far each leg can be trusted, so that no search has to
            wait for it; None leaves it to the first search.
    """

    def __init__(self, catalog: Catalog, settings: Settings, embedder: Embedder | None = None) -> None:
        self._catalog = catalog
        self._root = settings.indexes_dir
        self._embedder = embedder

    def behind(self) -> list[str]:
        """Collections with changes that no generation on this disk holds: of a dead worker, or of another machine."""
        newest = select(IndexChange.collection_id, func.max(IndexChange.seq)).group_by(IndexChange.collection_id)
        with self._catalog.read() as session:
            rows = session.execute(newest.join(Collection, Collection.id == IndexChange.collection_id)).all()
        return [key for key, sequence in rows if GenerationStore(self._root, key).newest_sequence() < sequence]

    def publish(self, collection_id: str) -> IndexGeneration | None:
        """Write a new generation with all the catalog's changes and switch to it; None when nothing changed.

        Raises:
            NotFound: there is no such collection.
            IntegrityError: what was written does not match the catalog; the generation in use stays.
        """
        target = self._target(collection_id)
        store = GenerationStore(self._root, collection_id)
        with store.lock():
            current = store.newest(target.fingerprint, target.dimension)
            if current is not None and current.manifest.sequence >= target.sequence:
                return None
            written = self._write(store, target, current)
        if self._embedder is not None and self._embedder.fingerprint == target.fingerprint:
            calibrations = StoredCalibrations(self._catalog, self._embedder)
            calibrations.current(collection_id, written.row.chunks, written.lexical)
        return written.row

    def rebuild(self, collection_id: str) -> IndexGeneration:
        """Write a new generation from the catalog alone, whatever is on disk; nothing is embedded.

        Raises:
            NotFound: there is no such collection.
            IntegrityError: what was written does not match the catalog.
        """
        target = self._target(collection_id)
        store = GenerationStore(self._root, collection_id)
        with store.lock():
            return self._write(store, target, None).row

    def ensure(self, collection_id: str) -> Generation:
        """The newest good generation, rebuilt from the catalog if there is none.

        Raises:
            NotFound: there is no such collection.
        """
        target = self._target(collection_id)
        store = GenerationStore(self._root, collection_id)
        found = store.newest(target.fingerprint, target.dimension)
        if found is not None:
            return found
        with store.lock():
            found = store.newest(target.fingerprint, target.dimension)
            if found is None:
                self._write(store, target, None)
                found = store.newest(target.fingerprint, target.dimension)
        if found is None:
            raise IntegrityError(f"The index just written in {store.folder} can't be read back. Check that disk.")
        return found

    def verify(self, collection_id: str) -> list[str]:
        """What differs between the catalog and the index with all changes applied; empty when they are equal.

        Raises:
            NotFound: there is no such collection.
        """
        target = self._target(collection_id)
        store = GenerationStore(self._root, collection_id)
        current = store.newest(target.fingerprint, target.dimension)
        if current is None:
            if not target.sequence or self._is_being_filled(collection_id):
                return []
            return ["There is no usable index generation on disk; a worker writes one when it starts."]
        folder = store.working_folder("verify")
        try:
            working = WorkingIndex(self._catalog, collection_id, target.dimension, folder, current)
            for _ in range(VERIFY_TRIES):
                working.catch_up()
                found = self._differences(collection_id, working)
                if not found or working.sequence == self._target(collection_id).sequence:
                    break
            return found
        finally:
            working.close()
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove the index files of collections that are no more."""
        with self._catalog.read() as session:
            known = set(session.scalars(select(Collection.id)))
        for folder in self._root.iterdir() if self._root.is_dir() else ():
            if folder.name not in known:
                shutil.rmtree(folder, ignore_errors=True)

    def _write(self, store: GenerationStore, target: _Target, current: Generation | None) -> _Written:
        store.remove_unfinished()
        folder = store.working_folder("new")
        try:
            manifest, lexical = self._fill(folder, target, current)
            generation = store.switch_to(folder, manifest)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        store.prune()
        return _Written(self._record(generation), lexical)

    def _fill(self, folder: Path, target: _Target, current: Generation | None) -> tuple[Manifest, LexicalSnapshot]:
        working = WorkingIndex(self._catalog, target.collection_id, target.dimension, folder, current)
        working.catch_up()
        dense = working.dense.write(folder / DENSE)
        shutil.rmtree(folder / BASE, ignore_errors=True)
        snapshot = working.lexical.snapshot()
        working.close()
        if not np.array_equal(dense.chunk_ids(), snapshot.chunk_ids()):
            raise IntegrityError("The dense and the lexical half of a new index disagree; it was not switched to.")
        manifest = Manifest(
            format=FORMAT,
            collection_id=target.collection_id,
            sequence=working.sequence,
            chunks=len(dense),
            dimension=target.dimension,
            embedding_fingerprint=target.fingerprint,
            languages=sorted(snapshot.languages),
            dense=dense.layout,
            files={},
        )
        return manifest, snapshot

    def _record(self, generation: Generation) -> IndexGeneration:
        manifest = generation.manifest
        row = IndexGeneration(
            id=generation.name,
            collection_id=manifest.collection_id,
            sequence=manifest.sequence,
            chunks=manifest.chunks,
            embedding_fingerprint=manifest.embedding_fingerprint,
        )
        kept = [folder.name for folder in generation.folder.parent.iterdir()]
        with self._catalog.write() as session:
            session.execute(
                delete(IndexGeneration).where(
                    IndexGeneration.collection_id == manifest.collection_id, IndexGeneration.id.not_in(kept)
                )
            )
            session.add(row)
        return row

    def _differences(self, collection_id: str, working: WorkingIndex) -> list[str]:
        with self._catalog.read() as session:
            rows = session.scalars(select(Chunk.id).where(Chunk.collection_id == collection_id)).all()
        catalog = np.sort(np.asarray(rows, dtype=np.int64))
        found = []
        for name, ids in (
            ("dense", working.dense.chunk_ids()),
            ("lexical", working.lexical.snapshot().chunk_ids()),
        ):
            missing, surplus = np.setdiff1d(catalog, ids), np.setdiff1d(ids, catalog)
            if len(missing):
                found.append(f"The {name} index lacks {len(missing)} chunks of the catalog, such as {missing[0]}.")
            if len(surplus):
                found.append(f"The {name} index has {len(surplus)} chunks not in the catalog, such as {surplus[0]}.")
        return found

    def _is_being_filled(self, collection_id: str) -> bool:
        """Whether a job goes on whose documents are published with the next generation."""
        unfinished = IngestJob.state.in_(("queued", "running"))
        with self._catalog.read() as session:
            jobs = select(IngestJob.id).where(IngestJob.collection_id == collection_id, unfinished)
            return session.scalar(jobs.limit(1)) is not None

    def _target(self, collection_id: str) -> _Target:
        with self._catalog.read() as session:
            row = session.get(Collection, collection_id)
            if row is None:
                raise NotFound(f"There is no collection with id {collection_id!r}.")
            return _Target(row.id, row.embedding_fingerprint, row.dimension, newest_sequence(session, row.id))
