"""The live index: whole documents only, whatever happens beside it, and the newest generation soon."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from sqlalchemy import delete, select

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Collection, Document, IndexChange
from retrieval import live
from retrieval.changes import newest_sequence
from retrieval.generation_files import GenerationStore
from retrieval.generations import Generations
from retrieval.live import LiveIndex

DIMENSION = 16
CHUNKS = 3


class Shelf:
    """A collection whose documents have random vectors, so that writing is quick; notes every version's chunks."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.versions: list[frozenset[int]] = []
        self._rng = np.random.default_rng(0)
        with catalog.write() as session:
            row = Collection(name="shelf", embedding_model="m", embedding_fingerprint="f" * 64, dimension=DIMENSION)
            session.add(row)
            session.flush()
            self.id = row.id

    def put(self, uri: str) -> None:
        """Write or replace a document."""
        with self.catalog.write() as session:
            document = session.scalar(select(Document).where(Document.uri == uri)) or Document(
                collection_id=self.id, uri=uri, title=uri, media_type="text/plain", sha256="", size_bytes=0,
                text="whale", version=0, language="en",
            )  # fmt: skip
            document.version += 1
            session.add(document)
            session.flush()
            session.execute(delete(Chunk).where(Chunk.document_id == document.id))
            chunks = [self._chunk(document.id, ordinal) for ordinal in range(CHUNKS)]
            session.add_all(chunks)
            session.add(IndexChange(collection_id=self.id, document_id=document.id, kind="upsert"))
            session.flush()
            self.versions.append(frozenset(chunk.id for chunk in chunks))

    def remove(self, uri: str) -> None:
        """Delete a document if it is there."""
        with self.catalog.write() as session:
            document = session.scalar(select(Document).where(Document.uri == uri))
            if document is not None:
                session.delete(document)
                session.add(IndexChange(collection_id=self.id, document_id=document.id, kind="delete"))

    def newest(self) -> int:
        """The newest change."""
        with self.catalog.read() as session:
            return newest_sequence(session, self.id)

    def _chunk(self, document_id: str, ordinal: int) -> Chunk:
        vector = self._rng.standard_normal(DIMENSION)
        return Chunk(
            collection_id=self.id, document_id=document_id, ordinal=ordinal, start=0, end=5, text="whale",
            token_count=1, embedded_sha256="", vector=(vector / np.linalg.norm(vector)).astype("<f2").tobytes(),
        )  # fmt: skip


@pytest.fixture
def shelf(catalog):
    return Shelf(catalog)


@pytest.fixture
def generations(shelf, settings):
    return Generations(shelf.catalog, settings)


@pytest.fixture
def store(shelf, settings):
    return GenerationStore(settings.indexes_dir, shelf.id)


@pytest.fixture
def index(shelf, generations, store, monkeypatch):
    """A live index that looks for newer generations all the time."""
    monkeypatch.setattr(live, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(live, "PAUSE", 0)
    opened = LiveIndex(shelf.catalog, lambda: generations.ensure(shelf.id), store)
    yield opened
    opened.close()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_newer_generation_is_adopted_and_the_old_copy_goes(shelf, generations, store, index):
    shelf.put("a")
    assert index.snapshot(shelf.newest()).dense.pending == CHUNKS
    name = generations.publish(shelf.id).id
    held = index.snapshot(0)
    _until(lambda: index.snapshot(0).generation == name)
    assert index.snapshot(0).dense.pending == 0
    _until(lambda: len(list(store.folder.glob(".live-*"))) == 1)
    assert list(held.lexical.chunk_ids()) == list(held.dense.chunk_ids())  # whoever still reads the old one can


def test_adopting_an_older_state_forgets_nothing(shelf, generations, index, monkeypatch):
    shelf.put("a")
    monkeypatch.setattr(live, "LOOK_EVERY_S", 60.0)
    index.snapshot(shelf.newest())
    name = generations.publish(shelf.id).id
    shelf.put("b")
    index.snapshot(shelf.newest())
    index._next_look = 0.0
    while (snapshot := index.snapshot(0)).generation != name:
        assert len(snapshot.dense) == 2 * CHUNKS
    assert len(snapshot.dense) == 2 * CHUNKS


def test_a_generation_that_cannot_be_opened_leaves_the_one_in_use(shelf, generations, index, monkeypatch):
    shelf.put("a")
    before = index.snapshot(shelf.newest()).generation
    monkeypatch.setattr(index, "_newest", lambda: 1 / 0)
    generations.publish(shelf.id)
    index.snapshot(0)
    _until(lambda: not index._switching.locked())
    shelf.put("b")
    now = index.snapshot(shelf.newest())
    assert (now.generation, len(now.dense)) == (before, 2 * CHUNKS)


def test_a_generation_pruned_while_it_is_opened_is_tried_anew(shelf, generations, store):
    import shutil

    shelf.put("a")
    generations.publish(shelf.id)
    gone = generations.ensure(shelf.id)
    shutil.rmtree(gone.folder)
    answers = iter([gone])
    opened = LiveIndex(shelf.catalog, lambda: next(answers, None) or generations.ensure(shelf.id), store)
    assert len(opened.snapshot(0).dense) == CHUNKS
    opened.close()


def test_readers_see_whole_documents_during_ingestion_deletion_and_switches(shelf, generations, index):
    """Both halves of every snapshot hold the same chunks, and of each version of a document all or none."""
    shelf.put("d0")
    seen: list[tuple[frozenset[int], frozenset[int]]] = []
    names: set[str] = set()
    problems: list[BaseException] = []
    done = threading.Event()

    def until_done(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                while not done.is_set():
                    work()
            except BaseException as problem:
                problems.append(problem)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def read() -> None:
        asked = shelf.newest()
        snapshot = index.snapshot(asked)
        assert snapshot.sequence >= asked
        halves = frozenset(snapshot.dense.chunk_ids().tolist()), frozenset(snapshot.lexical.chunk_ids().tolist())
        names.add(snapshot.generation)
        seen.append(halves)

    threads = [until_done(read) for _ in range(3)] + [until_done(lambda: generations.publish(shelf.id) and None)]
    rng = np.random.default_rng(1)
    for step in range(60):
        uri = f"d{rng.integers(0, 8)}"
        shelf.remove(uri) if step % 4 == 3 else shelf.put(uri)
    _until(lambda: len(names) > 2 or bool(problems))
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
    for dense, lexical in seen:
        assert dense == lexical
        assert all(version <= dense or not version & dense for version in shelf.versions)
    assert generations.verify(shelf.id) == []


@pytest.mark.hostile
def test_a_writer_killed_before_the_switch_leaves_the_old_generation_serving(shelf, generations, store, settings):
    shelf.put("a")
    old = generations.publish(shelf.id).id
    shelf.put("b")
    script = (
        "import os, signal, sys\n"
        "from folio.catalog import Catalog\n"
        "from folio.settings import load_settings\n"
        "from retrieval.generation_files import GenerationStore\n"
        "from retrieval.generations import Generations\n"
        "GenerationStore.switch_to = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "settings = load_settings(data_dir=sys.argv[1])\n"
        "Generations(Catalog(settings.catalog_url), settings).publish(sys.argv[2])\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", script, str(settings.data_dir), shelf.id], env=os.environ, timeout=120, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert list(store.folder.glob(".new-*"))
    assert generations.ensure(shelf.id).name == old
    assert generations.verify(shelf.id) == []
    assert generations.publish(shelf.id).chunks == 2 * CHUNKS
    assert not list(store.folder.glob(".new-*"))
