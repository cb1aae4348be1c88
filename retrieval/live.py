"""The index of one collection as one process searches it: a generation plus the catalog's later changes.

Readers take an immutable snapshot. Whoever finds the catalog ahead applies the changes first, so a committed document
is searchable and a deleted one gone at the next search.
"""

import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from folio.catalog import Catalog
from retrieval.dense import DenseIndex
from retrieval.generation_files import Generation, GenerationStore
from retrieval.lexical import LexicalSnapshot
from retrieval.working import WorkingIndex

YOUNG_S = 60.0  # a private folder this new may belong to a process that has not locked it yet


@dataclass(frozen=True)
class Snapshot:
    """Both halves of an index at one catalog sequence."""

    generation: str
    sequence: int
    dense: DenseIndex
    lexical: LexicalSnapshot


class LiveIndex:
    """Follows the catalog for one collection; any number of threads may ask for snapshots.

    Args:
        generation: where to start from.
        store: gives the private folder.
    """

    def __init__(self, catalog: Catalog, generation: Generation, store: GenerationStore) -> None:
        self._applying = threading.Lock()
        sweep_private_folders(store.folder)
        self._folder = store.working_folder("live")
        self._alive = FileLock(self._folder / ".alive.lock", thread_local=False)
        self._alive.acquire()
        manifest = generation.manifest
        self._working = WorkingIndex(catalog, manifest.collection_id, manifest.dimension, self._folder, generation)
        self._generation = generation.name
        self._snapshot = self._take()

    def snapshot(self, sequence: int) -> Snapshot:
        """A snapshot that holds at least the changes up to `sequence`."""
        if self._snapshot.sequence < sequence:
            with self._applying:
                if self._snapshot.sequence < sequence:
                    self._working.catch_up()
                    self._snapshot = self._take()
        return self._snapshot

    def close(self) -> None:
        """Remove the private files; snapshots already taken stay usable."""
        with self._applying:
            self._working.close()
            self._alive.release()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _take(self) -> Snapshot:
        working = self._working
        return Snapshot(self._generation, working.sequence, working.dense, working.lexical.snapshot())


def sweep_private_folders(folder: Path) -> None:
    """Remove private copies whose process is gone."""
    for candidate in folder.glob(".live-*"):
        if time.time() - candidate.stat().st_mtime < YOUNG_S:
            continue
        lock = FileLock(candidate / ".alive.lock")
        try:
            with lock.acquire(timeout=0):
                shutil.rmtree(candidate, ignore_errors=True)
        except (Timeout, OSError):
            continue
