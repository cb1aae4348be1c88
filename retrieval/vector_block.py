"""Vectors with the chunks and documents they belong to, indexed; the dense index is made of two such blocks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from retrieval.vector_index import Floats, Halves, Ids, Layout, VectorIndex

Mask = npt.NDArray[np.bool_]
Names = npt.NDArray[np.str_]

MOMENTS_SAMPLE = 5000
_ROWS_AT_ONCE = 20_000
_VECTORS = "vectors.npy"
_IDS = "chunk-ids.npy"
_NAMES = "document-ids.npy"
_OWNERS = "documents.npy"


@dataclass(frozen=True)
class Moments:
    """Mean and covariance of vectors: they give the spread of any question's cosines without computing those."""

    count: int
    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, vectors: Halves) -> "Moments":
        """Estimated from at most `MOMENTS_SAMPLE` vectors, evenly taken."""
        sample = np.asarray(vectors[:: max(1, len(vectors) // MOMENTS_SAMPLE)], dtype=np.float32)
        mean = sample.mean(axis=0) if len(sample) else np.zeros(vectors.shape[1], np.float32)
        covariance = (sample - mean).T @ (sample - mean) / np.float32(max(len(sample), 1))
        return cls(len(vectors), mean, np.asarray(covariance, dtype=np.float32))


@dataclass(frozen=True)
class Owners:
    """Which document each position belongs to: `names[of[position]]`. `names` ascend."""

    names: Names
    of: npt.NDArray[np.int32] = field(repr=False)
    _order: Ids = field(repr=False)  # positions, document by document
    _starts: Ids = field(repr=False)  # where each document's positions begin in `_order`

    @classmethod
    def build(cls, names: Names, of: npt.NDArray[np.int32]) -> "Owners":
        """Index the positions by document."""
        order = np.argsort(of, kind="stable")
        return cls(names, of, order, np.searchsorted(of[order], np.arange(len(names) + 1)))

    @classmethod
    def of_column(cls, document_ids: Names) -> "Owners":
        """From the document id of each position."""
        names, of = np.unique(document_ids, return_inverse=True)
        return cls.build(names, of.astype(np.int32))

    def column(self) -> Names:
        """The document id of each position."""
        return self.names[self.of] if len(self.of) else np.zeros(0, "<U32")

    def positions(self, documents: Iterable[str]) -> Ids:
        """All positions of these documents."""
        wanted = np.asarray(list(documents), dtype="<U32")
        if not len(wanted) or not len(self.names):
            return np.zeros(0, np.int64)
        at = np.minimum(np.searchsorted(self.names, wanted), len(self.names) - 1)
        found = at[self.names[at] == wanted]
        parts = [self._order[self._starts[i] : self._starts[i + 1]] for i in found]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)


@dataclass(frozen=True)
class Block:
    """Indexed vectors, the chunk id of each, and their documents; immutable."""

    ids: Ids
    owners: Owners
    vectors: Halves = field(repr=False)
    index: VectorIndex
    order: Ids = field(repr=False)  # positions sorted by chunk id, to find a chunk by bisection
    moments: Moments = field(repr=False)

    @classmethod
    def build(cls, ids: Ids, owners: Owners, vectors: Halves, index: VectorIndex | None = None) -> "Block":
        """Index these vectors, unless an `index` of them is given."""
        order = np.argsort(ids, kind="stable")
        return cls(ids, owners, vectors, index or VectorIndex.build(vectors), order, Moments.of(vectors))

    @classmethod
    def empty(cls, dimension: int) -> "Block":
        """No vectors."""
        vectors = np.zeros((0, dimension), "<f2")
        owners = Owners.of_column(np.zeros(0, "<U32"))
        return cls.build(np.zeros(0, np.int64), owners, vectors, VectorIndex.exact(vectors))

    def search(
        self, query: Floats, limit: int, documents: Sequence[str] | None, gone: Mask | None
    ) -> tuple[Ids, Floats]:
        """The nearest chunk ids among `documents` (None: all) that are not `gone`, and their cosines."""
        allowed = None if gone is None else ~gone
        if documents is not None:
            chosen = np.zeros(len(self.ids), dtype=bool)
            chosen[self.owners.positions(documents)] = True
            allowed = chosen if allowed is None else chosen & allowed
        positions, scores = self.index.search(query, limit, allowed)
        return self.ids[positions], scores

    def locate(self, ids: Ids) -> Ids:
        """The position of each chunk id; -1 where it is not here."""
        if not len(self.ids):
            return np.full(len(ids), -1, dtype=np.int64)
        found = self.order[np.minimum(np.searchsorted(self.ids, ids, sorter=self.order), len(self.ids) - 1)]
        return np.where(self.ids[found] == ids, found, -1)

    def save(self, folder: Path) -> None:
        """Write everything but the vectors, which are in `folder` already (`new_vectors`)."""
        np.save(folder / _IDS, self.ids)
        np.save(folder / _NAMES, self.owners.names)
        np.save(folder / _OWNERS, self.owners.of)
        self.index.save(folder)

    @classmethod
    def load(cls, folder: Path, layout: Layout) -> "Block":
        """Read what `save` wrote; the vectors stay on disk and are mapped."""
        vectors = np.load(folder / _VECTORS, mmap_mode="r")
        owners = Owners.build(np.load(folder / _NAMES), np.load(folder / _OWNERS))
        return cls.build(np.load(folder / _IDS), owners, vectors, VectorIndex.load(folder, vectors, layout))


def new_vectors(folder: Path, parts: Sequence[tuple[Halves, Ids]], dimension: int) -> Halves:
    """Write the chosen positions of each part one after the other, and map them back.

    They never are in memory as a whole.
    """
    total = sum(len(positions) for _, positions in parts)
    path = folder / _VECTORS
    if not total:
        np.save(path, np.zeros((0, dimension), "<f2"))
        return np.zeros((0, dimension), "<f2")
    written = np.lib.format.open_memmap(path, mode="w+", dtype="<f2", shape=(total, dimension))  # type: ignore[no-untyped-call]
    at = 0
    for vectors, positions in parts:
        for first in range(0, len(positions), _ROWS_AT_ONCE):
            chosen = positions[first : first + _ROWS_AT_ONCE]
            written[at : at + len(chosen)] = vectors[chosen]
            at += len(chosen)
    written.flush()
    del written
    mapped: Halves = np.load(path, mmap_mode="r")
    return mapped
