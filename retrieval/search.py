"""A question in, ranked passages out: both legs, fusion, then the passages as the catalog has them now."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Collection
from folio.errors import EmptyQuestion, NotFound
from folio.settings import Settings
from retrieval.candidates import Candidates, Floats, Leg
from retrieval.changes import newest_sequence
from retrieval.collections import DEFAULT_COLLECTION, require_fingerprint
from retrieval.context import Ranked, assemble
from retrieval.coverage import term_coverage
from retrieval.embedder import Embedder
from retrieval.filtering import allowed_documents
from retrieval.fusion import Weights, fuse
from retrieval.generation_files import GenerationStore
from retrieval.generations import Generations
from retrieval.language import query_language
from retrieval.live import LiveIndex, Snapshot
from retrieval.passages import Filters, Passage, SearchResult, SearchTiming

PASSAGES_PER_DOCUMENT = 3


@dataclass(frozen=True)
class _Scope:
    """Where a search looks."""

    collection_id: str
    sequence: int
    documents: Sequence[str] | None


class Searcher:
    """Searches every collection of a catalog; safe to use from many threads.

    Building it is cheap: the model and the indexes are opened at their first use, or by `warm`.
    """

    def __init__(self, catalog: Catalog, embedder: Embedder, settings: Settings) -> None:
        self._catalog = catalog
        self._embedder = embedder
        self._settings = settings
        self._generations = Generations(catalog, settings)
        self._live: dict[str, LiveIndex] = {}
        self._opening = threading.Lock()
        self._warm = False

    @property
    def is_warm(self) -> bool:
        """Whether `warm` has finished."""
        return self._warm

    def warm(self) -> None:
        """Load the embedding model and open the index of every collection that it made."""
        self._embedder.embed_query("warm")
        self._generations.sweep()
        with self._catalog.read() as session:
            rows = session.execute(select(Collection.id, Collection.embedding_fingerprint)).all()
        for collection_id, fingerprint in rows:
            if fingerprint == self._embedder.fingerprint:
                self._index(collection_id)
        self._warm = True

    def search(
        self,
        query: str,
        *,
        collection: str = DEFAULT_COLLECTION,
        top_k: int | None = None,
        filters: Filters = Filters(),  # noqa: B008 (immutable)
        merge_neighbours: bool = True,
    ) -> SearchResult:
        """The passages that answer a question best.

        Args:
            query: a question or a few words, in any language.
            top_k: most passages to return; None means the setting.
            merge_neighbours: join chunks that stand next to each other into one passage.

        Raises:
            EmptyQuestion: there is nothing to search for.
            NotFound: there is no such collection.
            EmbedderMismatch: the collection was embedded by another model.
        """
        began = time.perf_counter()
        if not query.strip():
            raise EmptyQuestion("The question is empty. Write what you want to know.")
        limit = top_k or self._settings.top_k
        scope = self._scope(collection, filters)
        snapshot = self._index(scope.collection_id).snapshot(scope.sequence)
        language = query_language(query)
        candidates, timing = self._candidates(snapshot, query, scope, limit)
        weights = self._weights(snapshot, language)
        started = time.perf_counter()
        passages = self._passages(snapshot, query, candidates, weights, limit, filters, merge_neighbours)
        now = time.perf_counter()
        timing = replace(timing, fuse_ms=(now - started) * 1000, total_ms=(now - began) * 1000)
        generation = f"{snapshot.generation}+{snapshot.sequence}"
        return SearchResult(query, collection, passages, timing, generation, weights.as_dict(), language)

    def contains_document(self, collection: str, document_id: str) -> dict[str, bool]:
        """Whether each index still finds the document, all changes applied.

        Raises:
            NotFound: there is no such collection.
        """
        scope = self._scope(collection, Filters())
        snapshot = self._index(scope.collection_id).snapshot(scope.sequence)
        return {
            "dense": snapshot.dense.has_document(document_id),
            "lexical": snapshot.lexical.has_document(document_id),
        }

    def close(self) -> None:
        """Let go of all indexes and their private files."""
        with self._opening:
            for live in self._live.values():
                live.close()
            self._live.clear()

    def _scope(self, collection: str, filters: Filters) -> _Scope:
        with self._catalog.read() as session:
            row = session.execute(
                select(Collection.id, Collection.embedding_model, Collection.embedding_fingerprint).where(
                    Collection.name == collection
                )
            ).one_or_none()
            if row is None:
                raise NotFound(
                    f"There is no collection named {collection!r}. `folio collections` lists those there are."
                )
            require_fingerprint(collection, row[1], row[2], self._embedder)
            return _Scope(row[0], newest_sequence(session, row[0]), allowed_documents(session, row[0], filters))

    def _index(self, collection_id: str) -> LiveIndex:
        found = self._live.get(collection_id)
        if found is not None:
            return found
        with self._opening:
            if collection_id not in self._live:
                generation = self._generations.ensure(collection_id)
                store = GenerationStore(self._settings.indexes_dir, collection_id)
                self._live[collection_id] = LiveIndex(self._catalog, generation, store)
            return self._live[collection_id]

    def _candidates(self, snapshot: Snapshot, query: str, scope: _Scope, limit: int) -> tuple[Candidates, SearchTiming]:
        wanted = max(self._settings.candidates, 2 * limit)
        started = time.perf_counter()
        vector: Floats = self._embedder.embed_query(query)
        embedded = time.perf_counter()
        dense = Leg(*snapshot.dense.search(vector, wanted, scope.documents))
        searched = time.perf_counter()
        lexical = Leg(*snapshot.lexical.search(query, wanted, documents=scope.documents))
        candidates = Candidates.complete(snapshot, query, vector, dense, lexical)
        done = time.perf_counter()
        timing = SearchTiming(
            embed_ms=(embedded - started) * 1000,
            dense_ms=(searched - embedded) * 1000,
            lexical_ms=(done - searched) * 1000,
        )
        return candidates, timing

    def _weights(self, snapshot: Snapshot, language: str) -> Weights:
        return Weights(0.5, 0.5) if language == "en" else Weights(0.05, 0.95)

    def _passages(
        self,
        snapshot: Snapshot,
        query: str,
        candidates: Candidates,
        weights: Weights,
        limit: int,
        filters: Filters,
        merge_neighbours: bool,
    ) -> tuple[Passage, ...]:
        fused = fuse(candidates.dense, candidates.lexical, weights)
        order = np.lexsort((candidates.ids, -fused))[: 2 * limit + 10]
        per_document = limit if len(filters.document_ids) == 1 else PASSAGES_PER_DOCUMENT
        with self._catalog.read() as session:
            coverage = term_coverage(session, snapshot.lexical, query, [int(candidates.ids[p]) for p in order])
            ranked = [
                Ranked(
                    int(candidates.ids[p]),
                    float(fused[p]),
                    candidates.stage_scores(int(p), float(fused[p]), coverage.get(int(candidates.ids[p]), 0.0)),
                )
                for p in order
            ]
            return assemble(session, ranked, top_k=limit, merge_neighbours=merge_neighbours, per_document=per_document)
