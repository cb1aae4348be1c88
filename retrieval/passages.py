"""What a search takes and gives: filters in, ranked passages with the scores of every stage out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Context = Literal["passage", "section"]


@dataclass(frozen=True)
class Filters:
    """Limits on what may be found; empty fields do not limit. Fields combine with *and*, values of one with *or*."""

    document_ids: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    uri_prefix: str = ""
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self != Filters()


@dataclass(frozen=True)
class StageScores:
    """Where each stage put a chunk. Ranks start at 1; None: the stage did not return it.

    `dense_score` is the cosine with the question, `lexical_score` the BM25 score; both are given for every chunk that
    either stage returned. `term_coverage` is the share of the question's terms in the chunk, weighted by rarity (IDF).
    """

    dense_rank: int | None = None
    dense_score: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    term_coverage: float = 0.0
    fused_score: float = 0.0
    rerank_score: float | None = None


@dataclass(frozen=True)
class Passage:
    """A span of a document returned for a query.

    `text == document.text[start:end]`, in characters; `chunk_ids` are the chunks merged into it, in reading order.
    `page_starts` holds, for each of them that has a page, its first character and that page. `uri` is the document's
    address, as readers are shown it.
    """

    rank: int
    score: float
    document_id: str
    document_version: int
    title: str
    uri: str
    media_type: str
    language: str
    heading_path: tuple[str, ...]
    page_start: int | None
    page_end: int | None
    start: int
    end: int
    text: str
    chunk_ids: tuple[int, ...]
    scores: StageScores
    page_starts: tuple[tuple[int, int], ...] = ()

    def page_at(self, position: int) -> int | None:
        """The page that a character of the passage stands on, where it runs over several."""
        before = [page for start, page in self.page_starts if start <= position]
        return before[-1] if before else self.page_start


@dataclass(frozen=True)
class SearchTiming:
    """Milliseconds spent in each stage of a search."""

    embed_ms: float = 0.0
    dense_ms: float = 0.0
    lexical_ms: float = 0.0
    fuse_ms: float = 0.0
    rerank_ms: float = 0.0
    total_ms: float = 0.0


@dataclass(frozen=True)
class SearchResult:
    """Passages, best first, with what is known of the search.

    `generation` names the index generation and catalog sequence that answered; `weights` are the shares that fusion
    gave each leg (`{"dense": 0.4, "lexical": 0.6}`).
    """

    query: str
    collection: str
    passages: tuple[Passage, ...]
    timing: SearchTiming
    generation: str
    weights: Mapping[str, float]
    language: str = ""

    def __iter__(self) -> Iterator[Passage]:
        return iter(self.passages)

    def __len__(self) -> int:
        return len(self.passages)

    def __getitem__(self, index: int) -> Passage:
        return self.passages[index]
