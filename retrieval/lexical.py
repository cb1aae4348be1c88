"""The lexical index: BM25 by tantivy over the terms of `retrieval.analysis`.

One `LexicalIndex` owns a folder and writes to it; `snapshot()` gives readers an immutable view that stays valid while
later changes are committed. A commit is atomic: after a crash the folder holds the last whole commit.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tantivy

from retrieval.analysis import stemming_language, terms
from retrieval.changes import ChunkRecord

WRITER_MEMORY_BYTES = 64_000_000
TITLE_BOOST = 1.0
MOST_QUERY_TERMS = 256  # a pasted page as a question stays fast; the first terms carry it

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class LexicalSnapshot:
    """An immutable view of the index for readers. `languages` are the stemmers its documents were written with."""

    searcher: tantivy.Searcher
    schema: tantivy.Schema
    languages: frozenset[str]

    def search(
        self,
        query: str,
        limit: int,
        *,
        documents: Sequence[str] | None = None,
        chunks: Sequence[int] | None = None,
    ) -> tuple[Ids, Floats]:
        """The best chunks by BM25, limited to `documents` or `chunks` where given: chunk ids and scores."""
        if limit <= 0 or not self.searcher.num_docs:
            return _nothing()
        asked = self._query(query)
        if asked is None:
            return _nothing()
        if documents is not None:
            asked = _restrict(asked, tantivy.Query.term_set_query(self.schema, "document", list(documents)))
        if chunks is not None:
            asked = _restrict(asked, tantivy.Query.term_set_query(self.schema, "chunk", list(chunks)))
        hits = self.searcher.search(asked, limit=limit, count=False).hits
        ids = np.asarray(self.searcher.fast_field_values("chunk", [at for _, at in hits]), dtype=np.int64)
        scores = np.asarray([score for score, _ in hits], dtype=np.float32)
        best = np.lexsort((ids, -scores))
        return ids[best], scores[best]

    def query_terms(self, query: str) -> dict[str, int]:
        """The question's terms by every stemmer in use, with how often each occurs."""
        counted: Counter[str] = Counter()
        for language in sorted(self.languages or {"en"}):
            counted |= Counter(terms(query, language))
        return dict(list(counted.items())[:MOST_QUERY_TERMS])

    def document_frequency(self, term: str) -> int:
        """In how many chunks the term occurs."""
        return int(self.searcher.doc_freq("body", term))

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

    def _query(self, text: str) -> tantivy.Query | None:
        wanted = self.query_terms(text)
        clauses = [
            (tantivy.Occur.Should, _boosted(self.schema, field, term, count * boost))
            for term, count in wanted.items()
            for field, boost in (("body", 1.0), ("title", TITLE_BOOST))
        ]
        return tantivy.Query.boolean_query(clauses) if clauses else None


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
        heading = " ".join((chunk.title, *chunk.heading_path))
        document.add_text("title", " ".join(terms(heading, chunk.language)))
        document.add_text("body", " ".join(terms(chunk.text, chunk.language)))
        return document


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("chunk", indexed=True, fast=True)
    builder.add_text_field("document", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _boosted(schema: tantivy.Schema, field: str, term: str, boost: float) -> tantivy.Query:
    query = tantivy.Query.term_query(schema, field, term, "freq")
    return query if boost == 1.0 else tantivy.Query.boost_query(query, boost)


def _restrict(query: tantivy.Query, allowed: tantivy.Query) -> tantivy.Query:
    unscored = tantivy.Query.const_score_query(allowed, 0.0)
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, unscored)])


def _nothing() -> tuple[Ids, Floats]:
    return np.zeros(0, np.int64), np.zeros(0, np.float32)
