"""One FAISS index over a block's vectors: exact while they are few, then inverted lists of 8-bit codes, re-ranked.

- exact: the float16 vectors as they are; every one is compared.
- inverted lists: about `2 * sqrt(n)` k-means cells, vectors as 8-bit residuals. The best codes are re-ranked with the
  stored float16 vectors, so scores are exact cosines whichever index found them.

How many lists a search probes is measured when the index is made: doubled until recall at 50 against the exact ranking
reaches `TARGET_RECALL`. An index that can't reach it is not used.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from folio.log import get_logger
from retrieval.gpu import GpuIndex, to_gpu

EXACT_BELOW = 20_000  # vectors: an exact search of so many takes about as long as the rest of a search's dense leg
TARGET_RECALL = 0.98
RECALL_AT = 50
SAMPLED_QUESTIONS = 200
QUESTION_COSINE = 0.65  # of a sampled question with its passage; the median of real questions with their best one
FIRST_PROBES = 8
RERANKED = 4  # codes re-ranked for each vector wanted
TRAINED_PER_LIST = 40  # FAISS asks for 39 at least
LISTS_DRIFT = 1.5  # the trained lists serve until their best number is this many times greater or smaller
ROWS_AT_ONCE = 1 << 16  # bounds the memory of conversions
_FILE = "lists.faiss"

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]

log = get_logger(__name__)


@dataclass(frozen=True)
class Layout:
    """How vectors are indexed. `recall` is that at `RECALL_AT`, measured when the index was made; exact has 1."""

    kind: str
    lists: int = 0
    probes: int = 0
    recall: float = 1.0


@dataclass(frozen=True)
class VectorIndex:
    """Positions and cosines of the nearest among `vectors`; immutable."""

    vectors: Halves = field(repr=False)
    layout: Layout
    _index: Any = field(repr=False)
    _gpu: GpuIndex | None = field(repr=False, default=None)

    @classmethod
    def build(cls, vectors: Halves, before: "VectorIndex | None" = None, moved: Ids | None = None) -> "VectorIndex":
        """Index these vectors.

        Args:
            before: an index of most of them, whose trained lists serve on if its size was about the same.
            moved: the position among `vectors` of each vector of `before`, -1 where it is gone; these come first.
        """
        if len(vectors) < EXACT_BELOW:
            return cls.exact(vectors)
        lists = _best_lists(len(vectors))
        if before is not None and moved is not None and before._serves(lists):
            index = before._moved(moved)
        else:
            index = _trained(vectors, lists)
        _add(index, vectors)
        layout = _tune(index, vectors)
        if layout.recall < TARGET_RECALL:
            log.warning("approximate_index_refused", vectors=len(vectors), recall=layout.recall, target=TARGET_RECALL)
            return cls.exact(vectors)
        return cls(vectors, layout, index, to_gpu(index))

    @classmethod
    def exact(cls, vectors: Halves) -> "VectorIndex":
        """An index that compares with every vector, however many they are."""
        dimension = vectors.shape[1]
        index = faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        # Its codes are the float16 bytes themselves.
        faiss.copy_array_to_vector(np.ascontiguousarray(vectors, "<f2").view(np.uint8).ravel(), index.codes)
        index.ntotal = len(vectors)
        return cls(vectors, Layout("exact"), index)

    @classmethod
    def load(cls, folder: Path, vectors: Halves, layout: Layout) -> "VectorIndex":
        """Read what `save` wrote."""
        if layout.kind == "exact":
            return cls.exact(vectors)
        index = faiss.read_index(str(folder / _FILE))
        return cls(vectors, layout, index, to_gpu(index))

    def save(self, folder: Path) -> None:
        """Write the lists; the vectors are the caller's to write."""
        if self.layout.kind != "exact":
            faiss.write_index(self._index, str(folder / _FILE))

    def search(self, query: Floats, limit: int, allowed: npt.NDArray[np.bool_] | None) -> tuple[Ids, Floats]:
        """The nearest positions among those allowed (None: all), best first, and their cosines."""
        if limit <= 0 or not len(self.vectors):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if self.layout.kind == "exact":
            parameters = faiss.SearchParameters(sel=_selector(allowed))  # type: ignore[call-arg]  # stub
            return _found(self._index.search(query[None, :], min(limit, len(self.vectors)), params=parameters))
        rows = self._nearest_codes(query, min(RERANKED * limit, len(self.vectors)), allowed)
        scores = np.asarray(self.vectors[rows], dtype=np.float32) @ query
        best = np.lexsort((rows, -scores))[:limit]
        return rows[best], scores[best]

    def _nearest_codes(self, query: Floats, limit: int, allowed: npt.NDArray[np.bool_] | None) -> Ids:
        probes = self.layout.probes
        if allowed is None:
            if self._gpu is not None and self._gpu.takes(limit, probes):
                return self._gpu.search(query, limit)
        else:
            count = int(np.count_nonzero(allowed))
            if count < EXACT_BELOW:
                return np.flatnonzero(allowed)
            # Fewer vectors in each list pass a filter, so more lists are probed.
            probes = min(self.layout.lists, math.ceil(probes * len(allowed) / count))
        parameters = faiss.SearchParametersIVF(nprobe=probes, sel=_selector(allowed))  # type: ignore[call-arg]  # stub
        return _found(self._index.search(query[None, :], limit, params=parameters))[0]

    def _serves(self, lists: int) -> bool:
        return self.layout.kind != "exact" and 1 / LISTS_DRIFT <= lists / self.layout.lists <= LISTS_DRIFT

    def _moved(self, moved: Ids) -> Any:
        """The same lists without the vectors that are gone, the others under their new positions."""
        old, index = self._index, _like(self._index)
        for number in range(old.nlist):
            size = old.invlists.list_size(number)
            if not size:
                continue
            positions = moved[faiss.rev_swig_ptr(old.invlists.get_ids(number), size)]
            codes = faiss.rev_swig_ptr(old.invlists.get_codes(number), size * old.code_size).reshape(size, -1)
            kept = positions >= 0
            positions, codes = positions[kept], np.ascontiguousarray(codes[kept])
            if len(positions):
                index.invlists.add_entries(number, len(positions), faiss.swig_ptr(positions), faiss.swig_ptr(codes))
        index.ntotal = int(np.count_nonzero(moved >= 0))
        return index


def exact_ranking(vectors: Halves, queries: Floats, limit: int) -> Ids:
    """The true nearest positions of each query, `(len(queries), limit)`."""
    scores, positions = [], []
    for first, rows in _batches(vectors, 0):
        part_scores, part = faiss.knn(queries, rows, min(limit, len(rows)), metric=faiss.METRIC_INNER_PRODUCT)
        scores.append(part_scores)
        positions.append(part + first)
    order = np.argsort(-np.hstack(scores), axis=1, kind="stable")[:, :limit]
    ranking: Ids = np.take_along_axis(np.hstack(positions), order, axis=1)
    return ranking


def sampled_questions(vectors: Halves, count: int, seed: int = 0) -> Floats:
    """Vectors as questions have them: near one stored vector, otherwise in directions that the collection has.

    Stored vectors themselves would be too easy: each is the very middle of its own neighbourhood.
    """
    rng = np.random.default_rng(seed)
    own = np.asarray(vectors[np.sort(rng.integers(0, len(vectors), count))], dtype=np.float32)
    other = np.asarray(vectors[np.sort(rng.integers(0, len(vectors), count))], dtype=np.float32)
    aside = rng.permutation(other - own.mean(axis=0))
    aside -= (aside * own).sum(axis=1, keepdims=True) * own
    aside /= np.maximum(np.linalg.norm(aside, axis=1, keepdims=True), 1e-6)
    return np.asarray(QUESTION_COSINE * own + math.sqrt(1 - QUESTION_COSINE**2) * aside, dtype=np.float32)


def _best_lists(count: int) -> int:
    return round(2 * math.sqrt(count))


def _trained(vectors: Halves, lists: int) -> Any:
    rows = np.random.default_rng(0).choice(len(vectors), min(len(vectors), TRAINED_PER_LIST * lists), replace=False)
    index = faiss.index_factory(vectors.shape[1], f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.train(np.asarray(vectors[np.sort(rows)], dtype=np.float32))
    return index


def _like(trained: Any) -> Any:
    """An empty index with the same lists and codes."""
    bare = faiss.IndexIVFScalarQuantizer(
        faiss.downcast_index(trained.quantizer), trained.d, trained.nlist, trained.sq.qtype, trained.metric_type
    )
    bare.sq, bare.is_trained, bare.by_residual = trained.sq, True, trained.by_residual
    copied = faiss.clone_index(bare)  # owns a quantizer of its own
    return copied


def _add(index: Any, vectors: Halves) -> None:
    """Add the vectors from position `ntotal` on."""
    for first, rows in _batches(vectors, index.ntotal):
        index.add_with_ids(rows, np.arange(first, first + len(rows), dtype=np.int64))


def _tune(index: Any, vectors: Halves) -> Layout:
    questions = sampled_questions(vectors, SAMPLED_QUESTIONS)
    truth = exact_ranking(vectors, questions, RECALL_AT)
    probes, recall = min(FIRST_PROBES, index.nlist), 0.0
    while True:
        trial = VectorIndex(vectors, Layout("ivf-sq8", index.nlist, probes), index)
        found = [trial.search(question, RECALL_AT, None)[0] for question in questions]
        recall = float(np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, truth, strict=True)])) / RECALL_AT
        if recall >= TARGET_RECALL or probes == index.nlist:
            index.nprobe = probes
            return Layout("ivf-sq8", index.nlist, probes, round(recall, 4))
        probes = min(2 * probes, index.nlist)


def _batches(vectors: Halves, start: int) -> Iterator[tuple[int, Floats]]:
    for first in range(start, len(vectors), ROWS_AT_ONCE):
        yield first, np.ascontiguousarray(vectors[first : first + ROWS_AT_ONCE], dtype=np.float32)


def _selector(allowed: npt.NDArray[np.bool_] | None) -> Any:
    if allowed is None:
        return None
    return faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))  # type: ignore[call-arg,arg-type]  # stub


def _found(result: tuple[Floats, Ids]) -> tuple[Ids, Floats]:
    scores, positions = result[0][0], result[1][0]
    here = positions >= 0
    return positions[here], scores[here]
