"""Vectors for chunks: those of equal chunks come from the catalog, the rest are embedded."""

from collections.abc import Callable, Sequence

from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Chunk
from ingest.batching import EmbeddingPool
from ingest.chunking import ChunkSpan

LOOKUP_BATCH = 500


class ChunkEmbedder:
    """Gives each chunk its vector: little-endian float16 bytes, L2-normalised."""

    def __init__(self, catalog: Catalog, pool: EmbeddingPool) -> None:
        self._catalog = catalog
        self._pool = pool

    def embed(
        self, collection_id: str, chunks: Sequence[ChunkSpan], progress: Callable[[int], None]
    ) -> tuple[list[bytes], int]:
        """Vectors of `chunks`, in their order, and how many were taken from the catalog.

        Args:
            progress: called with the number of chunks that have their vector; what it raises ends the call.
        """
        keys = [chunk.embedded_sha256 for chunk in chunks]
        known = self._known(collection_id, set(keys))
        reused = sum(key in known for key in keys)
        fresh = {key: chunk.embedded for key, chunk in zip(keys, chunks, strict=True) if key not in known}
        progress(reused)
        if fresh:
            known |= self._pool.embed(fresh, lambda done: progress(reused + done))
        return [known[key] for key in keys], reused

    def _known(self, collection_id: str, wanted: set[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        keys = sorted(wanted)
        with self._catalog.read() as session:
            for first in range(0, len(keys), LOOKUP_BATCH):
                rows = session.execute(
                    select(Chunk.embedded_sha256, Chunk.vector).where(
                        Chunk.collection_id == collection_id,
                        Chunk.embedded_sha256.in_(keys[first : first + LOOKUP_BATCH]),
                    )
                )
                found |= {key: vector for key, vector in rows}  # noqa: C416 - rows are not pairs to dict()
        return found
