"""A private, writable copy of a collection's index that follows the catalog.

It starts from a generation's files, or from nothing, and `catch_up` applies what the catalog has logged since. The live
index of a process and the making of a new generation both work on one.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from folio.catalog import Catalog
from retrieval.changes import ChunkRecord, as_matrix, read_changes, read_everything
from retrieval.dense import DenseIndex
from retrieval.generation_files import Generation, link_files
from retrieval.lexical import LexicalIndex

DENSE = "dense"
LEXICAL = "lexical"
BASE = "base"  # the dense files that this copy started from


class WorkingIndex:
    """Dense and lexical index of one collection at `sequence`.

    Args:
        folder: private to this object; its files are written there.
        generation: where to start from; None starts from the catalog alone.
    """

    def __init__(
        self, catalog: Catalog, collection_id: str, dimension: int, folder: Path, generation: Generation | None
    ) -> None:
        self._catalog = catalog
        self._collection_id = collection_id
        self._dimension = dimension
        if generation is None:
            self.lexical = LexicalIndex(folder / LEXICAL)
            self.dense, self.sequence = self._from_catalog()
        else:
            link_files(generation.folder / LEXICAL, folder / LEXICAL)
            self.lexical = LexicalIndex(folder / LEXICAL, generation.manifest.languages)
            link_files(generation.folder / DENSE, folder / BASE)
            self.dense = DenseIndex.load(folder / BASE, dimension, generation.manifest.dense)
            self.sequence = generation.manifest.sequence

    def catch_up(self) -> None:
        """Apply every change the catalog has committed."""
        changes = read_changes(self._catalog, self._collection_id, self.sequence)
        if not changes.documents:
            return
        self.lexical.apply(changes.documents, changes.chunks)
        self.dense = self.dense.apply(
            changes.documents,
            np.asarray([chunk.id for chunk in changes.chunks], dtype=np.int64),
            [chunk.document_id for chunk in changes.chunks],
            as_matrix(changes.chunks, self._dimension),
        )
        self.sequence = changes.sequence

    def close(self) -> None:
        """Finish writing."""
        self.lexical.close()

    def _from_catalog(self) -> tuple[DenseIndex, int]:
        with read_everything(self._catalog, self._collection_id) as (sequence, count, records):
            ids = np.zeros(count, dtype=np.int64)
            documents = np.zeros(count, dtype="<U32")
            vectors = np.zeros((count, self._dimension), dtype=np.float16)

            def noted() -> Iterator[ChunkRecord]:
                for position, record in enumerate(records):
                    ids[position] = record.id
                    documents[position] = record.document_id
                    vectors[position] = as_matrix([record], self._dimension)[0]
                    yield record

            stream = noted()
            for first in stream:
                self.lexical.apply((), itertools.chain([first], stream))
        return DenseIndex.build(self._dimension, ids, documents, vectors), sequence
