"""Texts of many documents share batches; one that can't be embedded, or is cancelled, costs nobody else anything."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ingest.batching import EmbeddingPool
from ingest.budget import ByteBudget


class Recorder:
    """Embeds a text as its length, notes each batch, and can be held back."""

    streams = 2

    def __init__(self):
        self.started = []
        self.batches = []
        self.may_go = threading.Event()
        self.may_go.set()

    def embed_documents(self, texts):
        self.started.append(texts)
        self.may_go.wait(10)
        self.batches.append(list(texts))
        if "poison" in texts:
            raise RuntimeError("this text can't be embedded")
        return np.array([[len(text)] for text in texts], dtype=np.float32)


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def pool(recorder):
    opened = EmbeddingPool(recorder, batch_size=4)
    yield opened
    recorder.may_go.set()
    opened.close()


def quiet(done):
    pass


def embed(pool, *texts, progress=quiet):
    return pool.embed({text: text for text in texts}, progress)


def lengths(vectors):
    return {key: int(np.frombuffer(vector, "<f2")[0]) for key, vector in vectors.items()}


def test_each_document_gets_the_vectors_of_its_own_texts(pool):
    documents = [[f"{number}-{'x' * size}" for size in range(30)] for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        for texts, vectors in zip(documents, threads.map(lambda texts: embed(pool, *texts), documents), strict=True):
            assert lengths(vectors) == {text: len(text) for text in texts}


def test_texts_of_several_documents_share_a_batch_and_equal_ones_are_embedded_once(pool, recorder):
    recorder.may_go.clear()
    with ThreadPoolExecutor(5) as threads:
        first = []
        for name in ("a", "b"):  # these occupy both streams
            first.append(threads.submit(embed, pool, name))
            while len(recorder.started) < len(first):
                time.sleep(0.005)
        later = [threads.submit(embed, pool, "same text!", f"own text {number}") for number in range(3)]
        while len(pool._by_size) < 4:
            time.sleep(0.005)
        recorder.may_go.set()
        for document in [*first, *later]:
            document.result(10)
    embedded = [text for batch in recorder.batches for text in batch]
    assert embedded.count("same text!") == 1
    assert any(len(batch) == 4 for batch in recorder.batches)


def test_a_text_that_cannot_be_embedded_fails_its_document_alone(pool, recorder):
    recorder.may_go.clear()
    with ThreadPoolExecutor(3) as threads:
        good = [threads.submit(embed, pool, f"good {number}", f"better {number}") for number in range(2)]
        bad = threads.submit(embed, pool, "poison", "fine")
        recorder.may_go.set()
        assert all(len(document.result(10)) == 2 for document in good)
        with pytest.raises(RuntimeError, match="can't be embedded"):
            bad.result(10)


def test_a_cancelled_document_takes_its_waiting_texts_along(pool, recorder):
    recorder.may_go.clear()

    def cancelled(done):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        embed(pool, *(f"text {number}" for number in range(200)), progress=cancelled)
    assert not pool._by_size
    recorder.may_go.set()
    assert lengths(embed(pool, "after")) == {"after": 5}
    assert sum(map(len, recorder.batches)) < 100


def test_a_book_does_not_hold_up_a_short_note(pool, recorder):
    recorder.streams = 1  # of two, one may note its batch long after the other has noted many
    recorder.may_go.clear()
    with ThreadPoolExecutor(2) as threads:
        threads.submit(embed, pool, *(f"page {number:04d} {'x' * 900}" for number in range(400)))
        while len(pool._by_size) < 300:
            time.sleep(0.005)
        threads.submit(embed, pool, "a short note")
        while len(pool._turns) < 2:
            time.sleep(0.005)
        recorder.may_go.set()
    place = next(place for place, batch in enumerate(recorder.batches) if "a short note" in batch)
    assert place < 10 < len(recorder.batches)


def test_only_so_many_bytes_are_held_at_once():
    budget, seen, lock = ByteBudget(100), [], threading.Lock()
    held = 0

    def hold(size):
        nonlocal held
        with budget.hold(size):
            with lock:
                held += size
                seen.append(held)
            threading.Event().wait(0.005)
            with lock:
                held -= size

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(hold, [40] * 20))
    assert max(seen) <= 100
    with budget.hold(500):  # larger than all: alone, but not for ever
        pass
