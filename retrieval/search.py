"""A question in, ranked passages out: both legs, fusion, then the passages as the catalog has them now."""

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Collection
from folio.errors import EmptyQuestion, NotFound
from folio.settings import Settings
from retrieval.calibration import Calibration
from retrieval.candidates import Floats
from retrieval.changes import newest_of
from retrieval.collections import DEFAULT_COLLECTION, require_fingerprint
from retrieval.context import DocumentRanking, assemble, rank_documents
from retrieval.coverage import with_coverage
from retrieval.embedder import Embedder
from retrieval.filtering import allowed_documents
from retrieval.fusion import Weights
from retrieval.generation_files import GenerationStore
from retrieval.generations import Generations
from retrieval.language import query_language
from retrieval.live import LiveIndex, Snapshot
from retrieval.passages import Context, Filters, SearchResult, SearchTiming
from retrieval.queries import fuse_rankings
from retrieval.ranking import Question, Ranked, rank
from retrieval.reading import read_texts
from retrieval.rerank import Reranker, rerank
from retrieval.stopwatch import Stopwatch
from retrieval.stored_calibration import StoredCalibrations

PASSAGES_PER_DOCUMENT = 3
OVERTAKEN_TRIES = 20  # searches again when a document was replaced between the ranking and the reading of its passages

VectorOf = Callable[[str], Floats]


@dataclass(frozen=True)
class _Scope:
    """Where a search looks, and what is known of it."""

    collection_id: str
    calibration: Calibration
    sequence: int
    documents: Sequence[str] | None


@dataclass(frozen=True)
class _Found:
    """Ranked chunks and how they were found."""

    snapshot: Snapshot
    language: str
    weights: Weights
    ranked: list[Ranked]
    watch: Stopwatch


class Searcher:
    """Searches every collection of a catalog; safe to use from many threads.

    Building it is cheap: the model and the indexes are opened at their first use, or by `warm`.

    Args:
        reranker: puts the best candidates in its own order; None leaves the fused order.
    """

    def __init__(
        self, catalog: Catalog, embedder: Embedder, settings: Settings, reranker: Reranker | None = None
    ) -> None:
        self._catalog = catalog
        self._embedder = embedder
        self._settings = settings
        self._reranker = reranker
        self._generations = Generations(catalog, settings)
        self._live: dict[str, LiveIndex] = {}
        self._opening = threading.Lock()
        self._calibrations = StoredCalibrations(catalog, embedder)
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
        also: Sequence[str] = (),
        collection: str = DEFAULT_COLLECTION,
        top_k: int | None = None,
        filters: Filters = Filters(),  # noqa: B008 (immutable)
        merge_neighbours: bool = True,
        context: Context = "passage",
    ) -> SearchResult:
        """The passages that answer a question best.

        Args:
            query: a question or a few words, in any language.
            also: further queries for it, its parts or other wordings; each is searched, and the rankings are fused.
            top_k: most passages to return; None means the setting.
            merge_neighbours: join chunks that stand next to each other into one passage.
            context: `section` widens each passage to the section it stands in.

        Raises:
            EmptyQuestion: there is nothing to search for.
            NotFound: there is no such collection.
            EmbedderMismatch: the collection was embedded by another model.
        """
        limit = top_k or self._settings.top_k
        vector_of = functools.cache(self._embedder.embed_query)  # a try after the first costs no embedding
        for _ in range(OVERTAKEN_TRIES):
            found = self._find(
                (query, *also), collection, max(self._settings.candidates, 2 * limit), filters, vector_of
            )
            with found.watch.time("fuse"), self._catalog.read() as session:
                assembled = assemble(
                    session,
                    found.ranked,
                    question=query,
                    top_k=limit,
                    merge_neighbours=merge_neighbours,
                    per_document=limit if len(filters.document_ids) == 1 else PASSAGES_PER_DOCUMENT,
                    context=context,
                )
            if not assembled.overtaken:
                break
        passages = with_coverage(assembled.passages, query, found.snapshot.lexical)
        return SearchResult(
            query=query,
            collection=collection,
            passages=passages,
            timing=_timing(found.watch),
            generation=f"{found.snapshot.generation}+{found.snapshot.sequence}",
            weights=found.weights.as_dict(),
            language=found.language,
        )

    def rank_documents(
        self,
        query: str,
        *,
        collection: str = DEFAULT_COLLECTION,
        depth: int = 100,
        filters: Filters = Filters(),  # noqa: B008
    ) -> DocumentRanking:
        """Whole documents by their best chunk, fused and by each leg alone: what evaluations compare.

        Args:
            depth: most documents in each ranking.

        Raises:
            EmptyQuestion: there is nothing to search for.
            NotFound: there is no such collection.
            EmbedderMismatch: the collection was embedded by another model.
        """
        candidates = max(self._settings.candidates, 2 * depth)
        found = self._find((query,), collection, candidates, filters, self._embedder.embed_query)
        with self._catalog.read() as session:
            return rank_documents(session, found.ranked, depth)

    def calibrate(self, collection: str = DEFAULT_COLLECTION) -> Calibration:
        """Measure each leg on the collection's own passages and keep the result with the collection.

        Publishing does it by itself when a collection has doubled or halved since, and the first search of one that
        was not measured yet; this does it now.

        Raises:
            NotFound: there is no such collection.
            EmbedderMismatch: the collection was embedded by another model.
        """
        scope = self._scope(collection, Filters())
        snapshot = self._index(scope.collection_id).snapshot(scope.sequence)
        return self._calibrations.measure(scope.collection_id, snapshot.lexical)

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

    def _find(
        self, queries: Sequence[str], collection: str, candidates: int, filters: Filters, vector_of: VectorOf
    ) -> _Found:
        """The first query is the question; it alone decides the weights shown and is what a reranker reads."""
        watch = Stopwatch()
        found = [self._rank(query, collection, candidates, filters, vector_of, watch) for query in queries]
        ranked = fuse_rankings([each.ranked for each in found])
        if self._reranker is not None:
            with watch.time("rerank"), self._catalog.read() as session:
                texts = functools.partial(read_texts, session)
                ranked = rerank(queries[0], ranked, self._reranker, self._settings.rerank_candidates, texts)
        return replace(found[0], ranked=ranked)

    def _rank(
        self, query: str, collection: str, candidates: int, filters: Filters, vector_of: VectorOf, watch: Stopwatch
    ) -> _Found:
        if not query.strip():
            raise EmptyQuestion("The question is empty. Write what you want to know.")
        scope = self._scope(collection, filters)
        snapshot = self._index(scope.collection_id).snapshot(scope.sequence)
        language = query_language(query)
        weights = self._calibration(scope, snapshot).weights(language)
        with watch.time("embed"):
            question = Question(snapshot.lexical.query_terms(query), vector_of(query))
        with self._catalog.read() as session:
            texts = functools.partial(read_texts, session)
            ranked = rank(snapshot, question, weights, candidates, scope.documents, texts, watch)
        return _Found(snapshot, language, weights, ranked, watch)

    def _scope(self, collection: str, filters: Filters) -> _Scope:
        with self._catalog.read() as session:
            columns = select(
                Collection.id,
                Collection.embedding_model,
                Collection.embedding_fingerprint,
                Collection.calibration,
                newest_of(Collection.id),
            )
            row = session.execute(columns.where(Collection.name == collection)).one_or_none()
            if row is None:
                raise NotFound(
                    f"There is no collection named {collection!r}. `folio collections` lists those there are."
                )
            collection_id, model, fingerprint, calibration, sequence = row
            require_fingerprint(collection, model, fingerprint, self._embedder)
            return _Scope(
                collection_id=collection_id,
                calibration=Calibration.model_validate(calibration),
                sequence=sequence,
                documents=allowed_documents(session, collection_id, filters),
            )

    def _index(self, collection_id: str) -> LiveIndex:
        found = self._live.get(collection_id)
        if found is not None:
            return found
        with self._opening:
            if collection_id not in self._live:
                newest = functools.partial(self._generations.ensure, collection_id)
                store = GenerationStore(self._settings.indexes_dir, collection_id)
                self._live[collection_id] = LiveIndex(self._catalog, newest, store)
            return self._live[collection_id]

    def _calibration(self, scope: _Scope, snapshot: Snapshot) -> Calibration:
        # One that the collection has outgrown serves until the next generation is published, which measures anew: while
        # a job goes on, a search must not wait for measurements again and again.
        if scope.calibration.chunks or not len(snapshot.dense):
            return scope.calibration
        return self._calibrations.current(scope.collection_id, len(snapshot.dense), snapshot.lexical)


def _timing(watch: Stopwatch) -> SearchTiming:
    stages = watch.stages_ms
    return SearchTiming(
        embed_ms=stages["embed"],
        dense_ms=stages["dense"],
        lexical_ms=stages["lexical"],
        fuse_ms=stages["fuse"],
        rerank_ms=stages["rerank"],
        total_ms=watch.total_ms,
    )
