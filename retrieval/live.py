"""The index of one collection as one process searches it: a generation plus the catalog's later changes.

Readers take an immutable snapshot. Whoever finds the catalog ahead applies the changes first, so a committed document
is searchable and a deleted one gone at the next search. When a newer generation is published, a thread opens it beside
the one in use and switches over; readers never wait for that.
"""

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from folio.catalog import Catalog
from folio.log import get_logger
from retrieval.dense import DenseIndex
from retrieval.generation_files import Generation, GenerationStore
from retrieval.lexical import LexicalSnapshot
from retrieval.working import WorkingIndex

YOUNG_S = 60.0  # a private folder this new may belong to a process that has not locked it yet
LOOK_EVERY_S = 2.0  # between two looks for a newer generation
PAUSE = 10  # times as long as the last switch took, before the next one: opening a large index costs its readers CPU
OPEN_TRIES = 5  # a generation may be pruned while it is being opened; a newer one is there then

log = get_logger(__name__)


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
        newest: the generation to start from, each time one is opened.
        store: gives the private folder.
    """

    def __init__(self, catalog: Catalog, newest: Callable[[], Generation], store: GenerationStore) -> None:
        self._catalog = catalog
        self._newest = newest
        self._store = store
        self._applying = threading.Lock()
        self._switching = threading.Lock()
        self._closed = False
        sweep_private_folders(store.folder)
        self._copy = self._open()
        self._snapshot = self._copy.snapshot()
        self._next_look = time.monotonic() + LOOK_EVERY_S

    def snapshot(self, sequence: int) -> Snapshot:
        """A snapshot that holds at least the changes up to `sequence`."""
        if self._snapshot.sequence < sequence:
            with self._applying:
                if self._snapshot.sequence < sequence:
                    self._copy.working.catch_up()
                    self._snapshot = self._copy.snapshot()
        if time.monotonic() >= self._next_look:
            self._look_for_newer()
        return self._snapshot

    def close(self) -> None:
        """Remove the private files; snapshots already taken stay usable."""
        self._closed = True
        with self._switching, self._applying:
            self._copy.close()

    def _look_for_newer(self) -> None:
        if self._closed or not self._switching.acquire(blocking=False):
            return
        self._next_look = time.monotonic() + LOOK_EVERY_S
        if self._store.newest_name() > self._copy.generation:
            threading.Thread(target=self._switch, name="adopt-generation", daemon=True).start()
        else:
            self._switching.release()

    def _switch(self) -> None:
        """Open the newest generation beside the one in use, catch up, and take its place."""
        began = time.monotonic()
        try:
            fresh = self._open()
            fresh.working.catch_up()  # most of it, while readers still use the other
            with self._applying:
                fresh.working.catch_up()
                old, self._copy = self._copy, fresh
                self._snapshot = fresh.snapshot()
            old.close()
        except Exception:
            log.exception("generation_not_adopted", folder=str(self._store.folder), still=self._snapshot.generation)
        finally:
            now = time.monotonic()
            self._next_look = now + max(LOOK_EVERY_S, PAUSE * (now - began))
            self._switching.release()

    def _open(self) -> "_PrivateCopy":
        for _ in range(OPEN_TRIES - 1):
            try:
                return _PrivateCopy(self._catalog, self._newest(), self._store)
            except FileNotFoundError:
                continue
        return _PrivateCopy(self._catalog, self._newest(), self._store)


class _PrivateCopy:
    """A generation's files, linked into a folder that is this object's own, and what was applied to them."""

    def __init__(self, catalog: Catalog, generation: Generation, store: GenerationStore) -> None:
        self.generation = generation.name
        self._folder = store.working_folder("live")
        self._alive = FileLock(self._folder / ".alive.lock", thread_local=False)
        self._alive.acquire()
        manifest = generation.manifest
        try:
            self.working = WorkingIndex(catalog, manifest.collection_id, manifest.dimension, self._folder, generation)
        except BaseException:
            self._remove()
            raise

    def snapshot(self) -> Snapshot:
        working = self.working
        return Snapshot(self.generation, working.sequence, working.dense, working.lexical.snapshot())

    def close(self) -> None:
        self.working.close()
        self._remove()

    def _remove(self) -> None:
        self._alive.release()
        shutil.rmtree(self._folder, ignore_errors=True)


def sweep_private_folders(folder: Path) -> None:
    """Remove private copies whose process is gone."""
    for candidate in folder.glob(".live-*"):
        try:
            if time.time() - candidate.stat().st_mtime < YOUNG_S:
                continue
            with FileLock(candidate / ".alive.lock").acquire(timeout=0):
                shutil.rmtree(candidate, ignore_errors=True)
        except (Timeout, OSError):
            continue
