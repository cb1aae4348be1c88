"""From ranked chunks to passages: joined to the catalog, neighbours merged, no repeats, few from any one document."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from folio.catalog.models import Chunk, Document
from retrieval.duplicates import WORD, Wording
from retrieval.passages import Context, Passage
from retrieval.ranking import Ranked
from retrieval.reading import passage_of, read_span, select_passages
from retrieval.sections import widen


@dataclass(frozen=True)
class Assembled:
    """Passages; `overtaken` says that the catalog had moved on since the ranking and some chunks were gone."""

    passages: tuple[Passage, ...]
    overtaken: bool


@dataclass(frozen=True)
class DocumentRanking:
    """URIs of documents by their best chunk, best first: the ranking, without reranking, and by each leg alone."""

    fused: list[str]
    not_reranked: list[str]
    dense: list[str]
    lexical: list[str]


@dataclass(frozen=True)
class _Joined:
    ordinal: int
    passage: Passage


def assemble(
    session: Session,
    ranked: Sequence[Ranked],
    *,
    question: str,
    top_k: int,
    merge_neighbours: bool,
    per_document: int,
    context: Context = "passage",
) -> Assembled:
    """At most `top_k` passages, best first; a chunk that the catalog no longer has is dropped.

    Args:
        question: a document whose title it holds, and no other's, may give more than `per_document` passages.
        per_document: most passages from one document.
        context: `section` widens each passage to the section it stands in.
    """
    window = _window(top_k)
    joined = _join(session, ranked[:window])
    overtaken = len(joined) < len(ranked[:window])
    passages = _choose(session, joined, question, top_k, merge_neighbours, per_document)
    if len(passages) < top_k and len(ranked) > window:
        joined = _join(session, ranked)
        overtaken = len(joined) < len(ranked)
        passages = _choose(session, joined, question, top_k, merge_neighbours, per_document)
    if context == "section":
        passages = widen(session, passages)
    return Assembled(tuple(replace(p, rank=rank) for rank, p in enumerate(passages, start=1)), overtaken)


def _window(top_k: int) -> int:
    """Chunks that are looked at first: enough for `top_k` passages unless many repeat each other."""
    return 2 * top_k + 10


def _choose(
    session: Session, joined: list[_Joined], question: str, top_k: int, merge_neighbours: bool, per_document: int
) -> list[Passage]:
    """The best passages, none that repeats a better one's words and few of any one document."""
    merged = _merge(session, joined[: _window(top_k)]) if merge_neighbours else joined[: _window(top_k)]
    passages = [item.passage for item in (*merged, *joined[_window(top_k) :])]
    named = _named(question, passages)
    chosen: list[Passage] = []
    wordings: list[Wording] = []
    taken: dict[str, int] = defaultdict(int)
    for passage in passages:
        if len(chosen) == top_k:
            break
        wording = Wording.of(passage.text)
        most = top_k if passage.document_id == named else per_document
        if taken[passage.document_id] < most and not any(wording.repeats(other) for other in wordings):
            taken[passage.document_id] += 1
            chosen.append(passage)
            wordings.append(wording)
    return chosen


def _named(question: str, passages: Sequence[Passage]) -> str | None:
    """The only document whose title the question holds, if it is the only one."""
    asked = f" {_plain(question)} "
    named = {p.document_id for p in passages if p.title and _plain(p.title) and f" {_plain(p.title)} " in asked}
    return named.pop() if len(named) == 1 else None


def _plain(text: str) -> str:
    """Words alone, in lower case; Chinese, Japanese and Korean characters stand apart."""
    return " ".join(WORD.findall(text.casefold()))


def rank_documents(session: Session, ranked: Sequence[Ranked], depth: int) -> DocumentRanking:
    """At most `depth` documents in each ranking."""
    rows = session.execute(
        select(Chunk.id, Document.uri)
        .join(Document, Document.id == Chunk.document_id)
        .where(Chunk.id.in_([item.chunk_id for item in ranked]))
    )
    uris = {row[0]: row[1] for row in rows}

    def documents(chunk_ids: Iterable[int]) -> list[str]:
        return list(dict.fromkeys(uris[chunk_id] for chunk_id in chunk_ids if chunk_id in uris))[:depth]

    dense = sorted((item.scores.dense_rank, item.chunk_id) for item in ranked if item.scores.dense_rank)
    lexical = sorted((item.scores.lexical_rank, item.chunk_id) for item in ranked if item.scores.lexical_rank)
    fused = sorted(ranked, key=lambda item: -item.scores.fused_score)
    return DocumentRanking(
        documents(item.chunk_id for item in ranked),
        documents(item.chunk_id for item in fused),
        documents(chunk_id for _, chunk_id in dense),
        documents(chunk_id for _, chunk_id in lexical),
    )


def _join(session: Session, ranked: Sequence[Ranked]) -> list[_Joined]:
    rows = session.execute(select_passages().where(Chunk.id.in_([item.chunk_id for item in ranked])))
    found = {row.id: row for row in rows}
    return [
        _Joined(found[item.chunk_id].ordinal, passage_of(found[item.chunk_id], item.score, item.scores))
        for item in ranked
        if item.chunk_id in found
    ]


def _merge(session: Session, joined: list[_Joined]) -> list[_Joined]:
    """Chunks next to each other in one document become one passage at the place of the better one."""
    groups: list[list[_Joined]] = []
    for item in joined:
        group = next((g for g in groups if any(_adjacent(item, other) for other in g)), None)
        if group is None:
            groups.append([item])
        else:
            group.append(item)
    return [group[0] if len(group) == 1 else _merged(session, group) for group in groups]


def _adjacent(a: _Joined, b: _Joined) -> bool:
    same = a.passage.document_id == b.passage.document_id and a.passage.heading_path == b.passage.heading_path
    return same and abs(a.ordinal - b.ordinal) == 1


def _merged(session: Session, group: list[_Joined]) -> _Joined:
    best, ordered = group[0], sorted(group, key=lambda item: item.ordinal)
    first, last = ordered[0].passage, ordered[-1].passage
    start, end = first.start, max(item.passage.end for item in ordered)
    passage = replace(
        best.passage,
        page_start=first.page_start,
        page_end=last.page_end,
        start=start,
        end=end,
        text=read_span(session, first.document_id, start, end),
        chunk_ids=tuple(item.passage.chunk_ids[0] for item in ordered),
        page_starts=tuple(
            (item.passage.start, item.passage.page_start) for item in ordered if item.passage.page_start is not None
        ),
    )
    return _Joined(best.ordinal, passage)
