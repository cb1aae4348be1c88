"""The dense index: an immutable base, a small list of later vectors, and the positions of removed ones.

`apply` and `compact` give a new index and leave the old one as it is, so readers keep whichever they hold. Vectors are
exactly the catalog's (float16, L2-normalised); scores are inner products, thus cosines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from retrieval.fusion import Spread

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]

MOMENTS_SAMPLE = 20_000

_VECTORS = "vectors.npy"
_IDS = "chunk-ids.npy"
_DOCUMENTS = "document-ids.npy"


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
class Block:
    """Vectors with their chunk ids and document ids; `documents` maps each document to its positions."""

    ids: Ids
    document_ids: npt.NDArray[np.str_]
    vectors: Halves
    index: Any
    positions: Mapping[str, Ids] = field(repr=False)
    order: Ids = field(repr=False)  # positions sorted by chunk id, to find a chunk by bisection
    moments: "Moments" = field(repr=False)

    @classmethod
    def build(cls, ids: Ids, document_ids: npt.NDArray[np.str_], vectors: Halves) -> "Block":
        """Index these vectors."""
        index = faiss.IndexFlatIP(vectors.shape[1])
        if len(ids):
            index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        order = np.argsort(ids, kind="stable")
        return cls(ids, document_ids, vectors, index, _by_document(document_ids), order, Moments.of(vectors))

    def locate(self, ids: Ids) -> Ids:
        """The position of each chunk id; -1 where it is not here."""
        if not len(self.ids):
            return np.full(len(ids), -1, dtype=np.int64)
        found = self.order[np.minimum(np.searchsorted(self.ids, ids, sorter=self.order), len(self.ids) - 1)]
        return np.where(self.ids[found] == ids, found, -1)


@dataclass(frozen=True)
class DenseIndex:
    """Searchable vectors of one collection at one moment."""

    dimension: int
    base: Block
    delta: Block
    dead_base: frozenset[int] = frozenset()
    dead_delta: frozenset[int] = frozenset()

    @classmethod
    def build(cls, dimension: int, ids: Ids, document_ids: Sequence[str], vectors: Halves) -> "DenseIndex":
        """An index of these vectors with nothing pending."""
        names = np.asarray(document_ids, dtype="<U32")
        return cls(dimension, Block.build(ids, names, vectors), _empty(dimension))

    def __len__(self) -> int:
        return len(self.base.ids) + len(self.delta.ids) - len(self.dead_base) - len(self.dead_delta)

    @property
    def pending(self) -> int:
        """Vectors added or removed since the base was built."""
        return len(self.delta.ids) + len(self.dead_base)

    def search(self, query: Floats, limit: int, documents: Sequence[str] | None = None) -> tuple[Ids, Floats]:
        """The nearest chunks among `documents` (None: among all), best first.

        Args:
            query: L2-normalised, `(dimension,)`.

        Returns:
            Chunk ids and cosines.
        """
        parts = [
            _search(block, dead, query, limit, documents)
            for block, dead in ((self.base, self.dead_base), (self.delta, self.dead_delta))
        ]
        ids = np.concatenate([ids for ids, _ in parts])
        scores = np.concatenate([scores for _, scores in parts])
        best = np.lexsort((ids, -scores))[:limit]
        return ids[best], scores[best]

    def spread(self, query: Floats) -> Spread:
        """Mean and deviation of the question's cosines with all vectors."""
        parts = [block.moments for block in (self.base, self.delta) if block.moments.count]
        total = sum(part.count for part in parts)
        if not total:
            return Spread(0.0, 0.0)
        means = [float(part.mean @ query) for part in parts]
        mean = sum(part.count * m for part, m in zip(parts, means, strict=True)) / total
        variance = sum(
            part.count * (float(query @ part.covariance @ query) + (m - mean) ** 2)
            for part, m in zip(parts, means, strict=True)
        )
        return Spread(mean, float(np.sqrt(variance / total)))

    def vectors(self, ids: npt.ArrayLike) -> Floats:
        """The vectors of these chunks, `(n, dimension)`; zeros for a chunk that is not here."""
        wanted = np.asarray(ids, dtype=np.int64)
        found = np.zeros((len(wanted), self.dimension), dtype=np.float32)
        for block in (self.base, self.delta):
            positions = block.locate(wanted)
            here = positions >= 0
            found[here] = block.vectors[positions[here]]
        return found

    def has_document(self, document_id: str) -> bool:
        """Whether any chunk of the document can be found."""
        return any(
            int(position) not in dead
            for block, dead in ((self.base, self.dead_base), (self.delta, self.dead_delta))
            for position in block.positions.get(document_id, ())
        )

    def chunk_ids(self) -> Ids:
        """Every chunk that can be found, ascending."""
        alive = [
            np.delete(block.ids, sorted(dead))
            for block, dead in ((self.base, self.dead_base), (self.delta, self.dead_delta))
        ]
        return np.sort(np.concatenate(alive))

    def apply(self, removed: Sequence[str], ids: Ids, document_ids: Sequence[str], vectors: Halves) -> "DenseIndex":
        """The index without the `removed` documents' old chunks and with the new ones."""
        gone_base = {int(p) for name in removed for p in self.base.positions.get(name, ())}
        gone_delta = {int(p) for name in removed for p in self.delta.positions.get(name, ())} | self.dead_delta
        kept = np.delete(np.arange(len(self.delta.ids)), sorted(gone_delta))
        delta = Block.build(
            np.concatenate([self.delta.ids[kept], ids]),
            np.concatenate([self.delta.document_ids[kept], np.asarray(document_ids, dtype="<U32")]),
            np.concatenate([self.delta.vectors[kept], vectors]),
        )
        return DenseIndex(self.dimension, self.base, delta, self.dead_base | gone_base)

    def compact(self) -> "DenseIndex":
        """The same content with a freshly built base and nothing pending."""
        kept = np.delete(np.arange(len(self.base.ids)), sorted(self.dead_base))
        return DenseIndex.build(
            self.dimension,
            np.concatenate([self.base.ids[kept], self.delta.ids]),
            [*self.base.document_ids[kept], *self.delta.document_ids],
            np.concatenate([self.base.vectors[kept], self.delta.vectors]),
        )

    def save(self, folder: Path) -> None:
        """Write the base; call `compact` first."""
        folder.mkdir(parents=True)
        np.save(folder / _VECTORS, self.base.vectors)
        np.save(folder / _IDS, self.base.ids)
        np.save(folder / _DOCUMENTS, self.base.document_ids)

    @classmethod
    def load(cls, folder: Path, dimension: int) -> "DenseIndex":
        """Read what `save` wrote."""
        vectors = np.load(folder / _VECTORS, mmap_mode="r")
        base = Block.build(np.load(folder / _IDS), np.load(folder / _DOCUMENTS), vectors)
        return cls(dimension, base, _empty(dimension))


def _empty(dimension: int) -> Block:
    return Block.build(np.zeros(0, np.int64), np.zeros(0, "<U32"), np.zeros((0, dimension), np.float16))


def _by_document(document_ids: npt.NDArray[np.str_]) -> dict[str, Ids]:
    if not len(document_ids):
        return {}
    order = np.argsort(document_ids, kind="stable")
    names, starts = np.unique(document_ids[order], return_index=True)
    return {str(name): part for name, part in zip(names, np.split(order, starts[1:]), strict=True)}


def _search(
    block: Block, dead: frozenset[int], query: Floats, limit: int, documents: Sequence[str] | None
) -> tuple[Ids, Floats]:
    if not len(block.ids) or limit <= 0:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    parameters = faiss.SearchParameters(sel=_selector(block, dead, documents))  # type: ignore[call-arg]  # stub
    scores, positions = block.index.search(query[None, :], min(limit, len(block.ids)), params=parameters)
    found = positions[0] >= 0
    return block.ids[positions[0][found]], scores[0][found]


def _selector(block: Block, dead: frozenset[int], documents: Sequence[str] | None) -> Any:
    allowed = np.zeros(len(block.ids), dtype=bool) if documents is not None else np.ones(len(block.ids), dtype=bool)
    for name in documents or ():
        allowed[block.positions.get(name, [])] = True
    allowed[list(dead)] = False
    return faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))  # type: ignore[call-arg,arg-type]  # stub
