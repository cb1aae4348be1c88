"""The dense index: exact while small, measured when not, filters inside the search, changes applied beside readers."""

import numpy as np
import pytest

from retrieval import gpu, vector_index
from retrieval.dense import DenseIndex
from retrieval.vector_index import VectorIndex, exact_ranking, sampled_questions

DIMENSION = 32
PER_DOCUMENT = 10


@pytest.fixture
def small_lists(monkeypatch):
    """Inverted lists from 1,000 vectors on."""
    monkeypatch.setattr(vector_index, "EXACT_BELOW", 1000)


def _vectors(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((60, DIMENSION))
    rows = centres[rng.integers(0, 60, count)] + 0.6 * rng.standard_normal((count, DIMENSION))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f2")


def _index(vectors: np.ndarray) -> DenseIndex:
    ids = np.arange(len(vectors)) * 3 + 7
    return DenseIndex.build(DIMENSION, ids, [f"d{i // PER_DOCUMENT:05d}" for i in range(len(vectors))], vectors)


def _recall(index: DenseIndex, ids: np.ndarray, vectors: np.ndarray, documents: list[str] | None = None) -> float:
    questions = sampled_questions(vectors, 50)
    truth = ids[exact_ranking(vectors, questions, 50)]
    found = [index.search(question, 50, documents)[0] for question in questions]
    return float(np.mean([len(np.intersect1d(a, b)) / 50 for a, b in zip(found, truth, strict=True)]))


def test_a_small_index_is_exact():
    vectors = _vectors(900)
    index = _index(vectors)
    assert index.layout.kind == "exact"
    assert _recall(index, index.base.ids, vectors) == 1.0
    question = sampled_questions(vectors, 1)[0]
    ids, scores = index.search(question, 5)
    assert scores == pytest.approx(index.vectors(ids) @ question, abs=1e-6)


@pytest.mark.usefixtures("small_lists")
def test_a_large_index_reaches_its_measured_recall_and_gives_exact_cosines():
    vectors = _vectors(4000)
    index = _index(vectors)
    assert index.layout.kind == "ivf-sq8"
    assert index.layout.recall >= vector_index.TARGET_RECALL
    assert _recall(index, index.base.ids, vectors) >= 0.97
    question = sampled_questions(vectors, 1)[0]
    ids, scores = index.search(question, 5)
    assert scores == pytest.approx(index.vectors(ids) @ question, abs=1e-6)


@pytest.mark.usefixtures("small_lists")
def test_an_index_that_misses_its_target_is_not_used(monkeypatch):
    monkeypatch.setattr(vector_index, "TARGET_RECALL", 1.01)
    assert VectorIndex.build(_vectors(1500)).layout.kind == "exact"


@pytest.mark.usefixtures("small_lists")
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_filters_choose_inside_the_search(share):
    vectors = _vectors(4000)
    index = _index(vectors)
    allowed = [f"d{i:05d}" for i in np.random.default_rng(3).permutation(400)[: int(400 * share)]]
    rows = np.sort(index.base.owners.positions(allowed))
    assert len(rows) == 4000 * share
    assert _recall_among(index, rows, allowed) >= 0.97


def _recall_among(index: DenseIndex, rows: np.ndarray, documents: list[str]) -> float:
    return _recall(index, index.base.ids[rows], index.base.vectors[rows], documents)


@pytest.mark.usefixtures("small_lists")
def test_changes_are_found_at_once_and_survive_writing(tmp_path):
    vectors = _vectors(3000)
    index = _index(vectors)
    new = _vectors(40, seed=5)
    changed = index.apply(["d00003", "d00007"], np.arange(90_000, 90_040), ["d00003"] * 40, new)
    for seen in (changed, changed.write(tmp_path / "written"), _reloaded(tmp_path / "written")):
        assert len(seen) == 3020
        assert seen.search(new[5].astype(np.float32), 1)[0] == [90_005]
        assert 7 + 3 * 71 not in seen.search(vectors[71].astype(np.float32), 50)[0]  # a chunk of d00007
        assert seen.has_document("d00003")
        assert not seen.has_document("d00007")
        assert seen.layout.kind == "ivf-sq8"
    assert index.search(vectors[71].astype(np.float32), 1)[0] == [7 + 3 * 71]  # whoever holds the old one keeps it


def _reloaded(folder) -> DenseIndex:
    import faiss

    lists = faiss.read_index(str(folder / "lists.faiss"))
    return DenseIndex.load(folder, DIMENSION, vector_index.Layout("ivf-sq8", lists.nlist, lists.nprobe))


@pytest.mark.usefixtures("small_lists")
def test_trained_lists_serve_on_while_the_size_is_about_the_same(monkeypatch, tmp_path):
    index = _index(_vectors(3000))
    monkeypatch.setattr(vector_index, "_trained", None)  # training again would fail
    grown = index.apply([], np.arange(90_000, 90_500), ["new"] * 500, _vectors(500, seed=6)).write(tmp_path / "grown")
    assert grown.layout.lists == index.layout.lists
    assert _recall(grown, grown.base.ids, np.asarray(grown.base.vectors)) >= 0.97


@pytest.mark.usefixtures("small_lists")
def test_filtered_searches_stay_on_the_cpu(monkeypatch):
    """No GPU here: a stand-in shows which searches would run on one."""
    index = VectorIndex.build(_vectors(2000))
    ran = []

    class Stand:
        def search(self, query, limit):
            ran.append(limit)
            return index._index.search(query, limit)

    on_gpu = VectorIndex(index.vectors, index.layout, index._index, gpu.GpuIndex(Stand()))
    question = sampled_questions(index.vectors, 1)[0]
    assert list(on_gpu.search(question, 50, None)[0][:5]) == list(index.search(question, 50, None)[0][:5])
    on_gpu.search(question, 50, np.arange(2000) < 1500)
    assert ran == [200]
