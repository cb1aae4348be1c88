"""The dense index: an immutable base, a small list of later vectors, and which of the base's were removed.

`apply` and `write` give a new index and leave the old one as it is, so readers keep whichever they hold. Vectors are
exactly the catalog's (float16, L2-normalised); scores are inner products, thus cosines.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from retrieval.fusion import Spread
from retrieval.vector_block import Block, Mask, Owners, new_vectors
from retrieval.vector_index import Floats, Halves, Ids, Layout, VectorIndex


@dataclass(frozen=True)
class DenseIndex:
    """Searchable vectors of one collection at one moment. `gone` marks the removed positions of the base."""

    dimension: int
    base: Block
    delta: Block
    gone: Mask | None = field(default=None, repr=False)

    @classmethod
    def build(cls, dimension: int, ids: Ids, document_ids: npt.ArrayLike, vectors: Halves) -> "DenseIndex":
        """An index of these vectors with nothing pending."""
        owners = Owners.of_column(np.asarray(document_ids, dtype="<U32"))
        return cls(dimension, Block.build(ids, owners, vectors), Block.empty(dimension))

    def __len__(self) -> int:
        return len(self.base.ids) + len(self.delta.ids) - self._removed

    @property
    def _removed(self) -> int:
        return 0 if self.gone is None else int(np.count_nonzero(self.gone))

    @property
    def pending(self) -> int:
        """Vectors added or removed since the base was built."""
        return len(self.delta.ids) + self._removed

    @property
    def layout(self) -> Layout:
        """How the base is indexed."""
        return self.base.index.layout

    def search(self, query: Floats, limit: int, documents: Sequence[str] | None = None) -> tuple[Ids, Floats]:
        """The nearest chunks among `documents` (None: among all), best first.

        Args:
            query: L2-normalised, `(dimension,)`.

        Returns:
            Chunk ids and cosines.
        """
        parts = [
            self.base.search(query, limit, documents, self.gone),
            self.delta.search(query, limit, documents, None),
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
        positions = self.base.owners.positions([document_id])
        left = positions if self.gone is None else positions[~self.gone[positions]]
        return bool(len(left) or len(self.delta.owners.positions([document_id])))

    def chunk_ids(self) -> Ids:
        """Every chunk that can be found, ascending."""
        return np.sort(np.concatenate([self.base.ids[self._kept()], self.delta.ids]))

    def apply(self, removed: Sequence[str], ids: Ids, document_ids: Sequence[str], vectors: Halves) -> "DenseIndex":
        """The index without the `removed` documents' old chunks and with the new ones."""
        gone = np.zeros(len(self.base.ids), dtype=bool) if self.gone is None else self.gone.copy()
        gone[self.base.owners.positions(removed)] = True
        kept = np.delete(np.arange(len(self.delta.ids)), self.delta.owners.positions(removed))
        names = np.concatenate([self.delta.owners.column()[kept], np.asarray(document_ids, dtype="<U32")])
        rows = np.concatenate([self.delta.vectors[kept], vectors])
        owners = Owners.of_column(names)
        delta = Block.build(np.concatenate([self.delta.ids[kept], ids]), owners, rows, VectorIndex.exact(rows))
        return DenseIndex(self.dimension, self.base, delta, gone if gone.any() else None)

    def write(self, folder: Path) -> "DenseIndex":
        """Write the same content with nothing pending, and give it as an index over those files."""
        folder.mkdir(parents=True)
        kept = self._kept()
        everything = np.arange(len(self.delta.ids))
        vectors = new_vectors(folder, [(self.base.vectors, kept), (self.delta.vectors, everything)], self.dimension)
        moved = np.full(len(self.base.ids), -1, dtype=np.int64)
        moved[kept] = np.arange(len(kept))
        index = VectorIndex.build(vectors, self.base.index, moved)
        names = np.concatenate([self.base.owners.column()[kept], self.delta.owners.column()])
        base = Block.build(
            np.concatenate([self.base.ids[kept], self.delta.ids]), Owners.of_column(names), vectors, index
        )
        base.save(folder)
        return DenseIndex(self.dimension, base, Block.empty(self.dimension))

    @classmethod
    def load(cls, folder: Path, dimension: int, layout: Layout) -> "DenseIndex":
        """Read what `write` wrote."""
        return cls(dimension, Block.load(folder, layout), Block.empty(dimension))

    def _kept(self) -> Ids:
        return np.arange(len(self.base.ids)) if self.gone is None else np.flatnonzero(~self.gone)
