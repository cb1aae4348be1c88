"""`folio reindex --embed`: the old vectors serve until all new ones are there, then everything switches at once."""

import threading

import numpy as np
import pytest
from sqlalchemy import select

from folio.catalog.models import Chunk, Collection, Document
from folio.errors import EmbedderMismatch
from folio.services import build_embedder
from folio.settings import load_settings
from ingest.reembedding import Reembedding
from ingest.service import Ingestion
from ingest.worker import Worker
from retrieval.collections import Collections
from retrieval.embedder import SentenceTransformerEmbedder
from retrieval.generations import Generations
from retrieval.search import Searcher


class Parts:
    """One Folio with one embedder."""

    def __init__(self, catalog, settings, embedder):
        self.catalog, self.settings, self.embedder = catalog, settings, embedder
        self.collections = Collections(catalog, embedder)
        self.generations = Generations(catalog, settings)
        self.searcher = Searcher(catalog, embedder, settings)
        self.ingestion = Ingestion(catalog, settings, self.collections)

    def add(self, title, text):
        job = self.ingestion.submit_text("default", title, text)
        worker = Worker(self.catalog, self.embedder, self.generations, self.settings)
        worker.run(threading.Event(), finished=lambda: self.ingestion.job(job.id).is_finished)
        return self.ingestion.job(job.id)

    def move_to(self, embedder, progress=lambda done, total: None):
        collection_id = self.collections.get("default").id
        return Reembedding(self.catalog, self.settings, embedder, progress).run(collection_id)


@pytest.fixture
def old(catalog, settings, embedder):
    parts = Parts(catalog, settings, embedder)
    for number in range(3):
        parts.add(f"Note {number}", f"Note {number} says that kettle number {number} boils.\n\n" + "Tea is hot. " * 150)
    yield parts
    parts.searcher.close()


@pytest.fixture(scope="module")
def tiny(tiny_model):
    return SentenceTransformerEmbedder("tiny", tiny_model)


@pytest.fixture
def starter_again():
    """The starter's vectors cut to 128 components: another fingerprint, the same tokenizer."""
    settings = load_settings(embedding_dimension=128)
    return build_embedder(settings)


def vectors(catalog):
    with catalog.read() as session:
        return dict(session.execute(select(Chunk.id, Chunk.vector)).all())


def test_all_chunks_change_model_together_and_the_old_embedder_is_refused_with_a_way_out(old, tiny, catalog, settings):
    result = old.move_to(tiny)
    assert result.recut == 3  # the tiny model reads 64 tokens, the chunks were cut for 256
    assert {len(vector) for vector in vectors(catalog).values()} == {2 * tiny.dimension}
    with pytest.raises(EmbedderMismatch, match="folio reindex --embed"):
        old.searcher.search("kettle")
    new = Parts(catalog, settings, tiny)
    new.generations.rebuild(new.collections.get("default").id)
    assert new.searcher.search("kettle number 2")[0].title == "Note 2"
    assert new.generations.verify(new.collections.get("default").id) == []
    with catalog.read() as session:
        for document in session.scalars(select(Document)):
            for chunk in document.chunks:
                assert chunk.text == document.text[chunk.start : chunk.end]
    new.searcher.close()


def test_chunks_that_fit_keep_their_spans_and_ids(old, catalog, settings, starter_again):
    before = vectors(catalog)
    assert old.move_to(starter_again).recut == 0
    after = vectors(catalog)
    assert before.keys() == after.keys()
    assert all(
        np.dot(np.frombuffer(before[key], "<f2")[:128].astype("f4"), np.frombuffer(after[key], "<f2").astype("f4")) > 0
        for key in before
    )


def test_a_run_that_is_killed_leaves_the_collection_whole_and_goes_on_where_it_stopped(old, tiny, catalog, monkeypatch):
    before = vectors(catalog)
    monkeypatch.setattr("ingest.reembedding.GROUP", 8)

    def die(done, total):
        if done > 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        old.move_to(tiny, die)
    assert vectors(catalog) == before
    assert old.searcher.search("kettle number 1")[0].title == "Note 1"
    started_at = []
    old.move_to(tiny, lambda done, total: started_at.append(done))
    assert started_at[0] > 8
    assert vectors(catalog) != before


def test_documents_that_change_meanwhile_are_embedded_too(old, tiny, catalog):
    added = []

    def add_one(done, total):
        if not added:
            added.append(old.add("Late", "The late kettle whistles."))

    old.move_to(tiny, add_one)
    with catalog.read() as session:
        titles = session.scalars(select(Document.title).join(Chunk).distinct()).all()
        assert "Late" in titles
        assert {len(v) for v in session.scalars(select(Chunk.vector))} == {2 * tiny.dimension}


def test_a_worker_with_the_old_model_adds_nothing_to_the_moved_collection(old, tiny, catalog):
    moved = []

    class Slow:
        def __getattr__(self, name):
            return getattr(old.embedder, name)

        def embed_documents(self, texts):
            if not moved:
                moved.append(old.move_to(tiny))
            return old.embedder.embed_documents(texts)

    job = old.ingestion.submit_text("default", "Late", "The late kettle whistles.")
    worker = Worker(catalog, Slow(), old.generations, old.settings)
    worker.run(threading.Event(), finished=lambda: old.ingestion.job(job.id).is_finished)
    finished = old.ingestion.job(job.id)
    assert finished.files.failed == 1
    with catalog.read() as session:
        assert session.scalar(select(Document.id).where(Document.title == "Late")) is None
        assert session.scalar(select(Collection.embedding_model)) == "tiny"
