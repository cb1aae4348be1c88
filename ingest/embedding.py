"""Vectors for chunks: those of equal chunks come from the catalog, the rest are embedded, sorted by length."""

import threading
from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Chunk
from ingest.chunking import ChunkSpan
from retrieval.embedder import Embedder

LOOKUP_BATCH = 500
GROUP = 256  # chunks embedded between two reports of progress; a multiple of the model's batch


class ChunkEmbedder:
    """Gives each chunk its vector: little-endian float16 bytes, L2-normalised."""

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        self._catalog = catalog
        self._embedder = embedder
        self._lock = threading.Lock()  # one file embeds at a time: two would only share the same cores

    def embed(
        self, collection_id: str, chunks: Sequence[ChunkSpan], progress: Callable[[int], None]
    ) -> tuple[list[bytes], int]:
        """Vectors of `chunks`, in their order, and how many were taken from the catalog.

        Args:
            progress: called with the number of chunks that have their vector.
        """
        known = self._known(collection_id, {chunk.embedded_sha256 for chunk in chunks})
        reused = sum(chunk.embedded_sha256 in known for chunk in chunks)
        fresh = {chunk.embedded_sha256: chunk.embedded for chunk in chunks if chunk.embedded_sha256 not in known}
        by_length = sorted(fresh.items(), key=lambda entry: len(entry[1]))
        progress(reused)
        for first in range(0, len(by_length), GROUP):
            group = by_length[first : first + GROUP]
            with self._lock:
                vectors = self._embedder.embed_documents([text for _, text in group])
            known |= {key: np.asarray(row, "<f2").tobytes() for (key, _), row in zip(group, vectors, strict=True)}
            progress(min(len(chunks), reused + first + len(group)))
        return [known[chunk.embedded_sha256] for chunk in chunks], reused

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
