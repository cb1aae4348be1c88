"""The lexical index: BM25 by tantivy over the terms of `retrieval.analysis`.

One `LexicalIndex` owns a folder and writes to it; `snapshot()` gives readers an immutable view that stays valid while
later changes are committed. A commit is atomic: after a crash the folder holds the last whole commit.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tantivy

from retrieval.analysis import question_terms, stemming_language, terms
from retrieval.changes import ChunkRecord
from retrieval.fusion import Spread

WRITER_MEMORY_BYTES = 64_000_000
MOST_QUERY_TERMS = 256  # a pasted page as a question stays fast; the first terms carry it

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class LexicalSnapshot:
    """An immutable view of the index for readers. `languages` are the stemmers its documents were written with."""

    searcher: tantivy.Searcher
    schema: tantivy.Schema
    languages: frozenset[str]
    _frequencies: dict[str, int] = field(default_factory=dict, repr=False, compare=False)  # of terms looked up

    def search(
        self,
        wanted: Mapping[str, float],
        limit: int,
        *,
        documents: Sequence[str] | None = None,
        chunks: Sequence[int] | None = None,
    ) -> tuple[Ids, Floats]:
        """The best chunks by BM25 for weighted terms, limited to `documents` or `chunks` where given.

        Returns:
            Chunk ids and scores, best first.
        """
        if limit <= 0 or not wanted or not self.searcher.num_docs:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        query = self._query(wanted)
        if documents is not None:
            query = _restrict(query, tantivy.Query.term_set_query(self.schema, "document", list(documents)))
        if chunks is not None:
            query = _restrict(query, tantivy.Query.term_set_query(self.schema, "chunk", list(chunks)))
        hits = self.searcher.search(query, limit=limit, count=False).hits
        ids = np.asarray(self.searcher.fast_field_values("chunk", [at for _, at in hits]), dtype=np.int64)
        scores = np.asarray([score for score, _ in hits], dtype=np.float32)
        best = np.lexsort((ids, -scores))
        return ids[best], scores[best]

    def query_terms(self, query: str) -> dict[str, float]:
        """The question's terms by every stemmer in use, with how often each occurs."""
        counted: Counter[str] = Counter()
        for language in sorted(self.languages or {"en"}):
            counted |= Counter(question_terms(query, language))
        return {term: float(count) for term, count in list(counted.items())[:MOST_QUERY_TERMS]}

    def rarity(self, term: str) -> float:
        """BM25's inverse document frequency of a term."""
        total = self.searcher.num_docs
        count = self._frequency(term)
        return math.log(1 + (total - count + 0.5) / (count + 0.5))

    def spread(self, wanted: Mapping[str, float]) -> Spread:
        """What the collection would score, were terms independent and each occurrence worth its rarity."""
        total = max(self.searcher.num_docs, 1)
        mean = variance = 0.0
        for term, weight in wanted.items():
            share, value = self._frequency(term) / total, weight * self.rarity(term)
            mean += value * share
            variance += value * value * share * (1 - share)
        return Spread(mean, math.sqrt(variance))

    def _frequency(self, term: str) -> int:
        known = self._frequencies.get(term)
        if known is None:
            known = min(int(self.searcher.doc_freq("terms", term)), int(self.searcher.num_docs))
            self._frequencies[term] = known
        return known

    def has_document(self, document_id: str) -> bool:
        """Whether any chunk of the document can be found."""
        query = tantivy.Query.term_query(self.schema, "document", document_id)
        return bool(self.searcher.search(query, limit=1, count=False).hits)

    def chunk_ids(self) -> Ids:
        """Every chunk that can be found, ascending."""
        if not self.searcher.num_docs:
            return np.zeros(0, np.int64)
        hits = self.searcher.search(tantivy.Query.all_query(), limit=self.searcher.num_docs, count=False).hits
        return np.sort(np.asarray(self.searcher.fast_field_values("chunk", [at for _, at in hits]), dtype=np.int64))

    def _query(self, wanted: Mapping[str, float]) -> tantivy.Query:
        clauses = [(tantivy.Occur.Should, _term(self.schema, term, weight)) for term, weight in wanted.items()]
        return tantivy.Query.boolean_query(clauses)


class LexicalIndex:
    """A folder of tantivy files that this process may write.

    Args:
        folder: an empty or not yet existing folder, or one with an index.
        languages: the stemmers of the documents already in it.
    """

    def __init__(self, folder: Path, languages: Iterable[str] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.schema = _schema()
        self._index = tantivy.Index(self.schema, path=str(folder))
        self._languages = frozenset(languages)
        self._writer: tantivy.IndexWriter | None = None

    def snapshot(self) -> LexicalSnapshot:
        """What is committed, for readers."""
        return LexicalSnapshot(self._index.searcher(), self.schema, self._languages)

    def apply(self, removed: Iterable[str], chunks: Iterable[ChunkRecord]) -> None:
        """Take out the `removed` documents' old chunks, put in the new ones, and commit both together."""
        if self._writer is None:
            self._writer = self._index.writer(heap_size=WRITER_MEMORY_BYTES, num_threads=1)
        for document_id in removed:
            self._writer.delete_documents_by_term("document", document_id)
        used = set(self._languages)
        for chunk in chunks:
            used.add(stemming_language(chunk.language))
            self._writer.add_document(self._document(chunk))
        self._writer.commit()
        self._index.reload()
        self._languages = frozenset(used)

    def close(self) -> None:
        """Wait for merges and let go of the folder's write lock."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    def _document(self, chunk: ChunkRecord) -> tantivy.Document:
        document = tantivy.Document()
        document.add_unsigned("chunk", chunk.id)
        document.add_text("document", chunk.document_id)
        text = "\n".join((chunk.title, *chunk.heading_path, chunk.text))
        document.add_text("terms", " ".join(terms(text, chunk.language)))
        return document


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("chunk", indexed=True, fast=True)
    builder.add_text_field("document", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _term(schema: tantivy.Schema, term: str, weight: float) -> tantivy.Query:
    return tantivy.Query.boost_query(tantivy.Query.term_query(schema, "terms", term, "freq"), weight)


def _restrict(query: tantivy.Query, allowed: tantivy.Query) -> tantivy.Query:
    unscored = tantivy.Query.const_score_query(allowed, 0.0)
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, unscored)])
