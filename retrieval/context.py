"""From ranked chunks to passages: joined to the catalog, neighbours merged, few from any one document."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from folio.catalog.models import Chunk, Document
from retrieval.passages import Passage
from retrieval.ranking import Ranked


@dataclass(frozen=True)
class Assembled:
    """Passages; `overtaken` says that the catalog had moved on since the ranking and some chunks were gone."""

    passages: tuple[Passage, ...]
    overtaken: bool


@dataclass(frozen=True)
class DocumentRanking:
    """URIs of documents by their best chunk, best first: fused, and by each leg alone."""

    fused: list[str]
    dense: list[str]
    lexical: list[str]


@dataclass(frozen=True)
class _Joined:
    ordinal: int
    passage: Passage


def assemble(
    session: Session, ranked: Sequence[Ranked], *, top_k: int, merge_neighbours: bool, per_document: int
) -> Assembled:
    """At most `top_k` passages, best first; a chunk that the catalog no longer has is dropped.

    Args:
        per_document: most passages from one document.
    """
    joined = _join(session, ranked)
    overtaken = len(joined) < len(ranked)
    if merge_neighbours:
        joined = _merge(session, joined)
    chosen: list[Passage] = []
    taken: dict[str, int] = defaultdict(int)
    for item in joined:
        if taken[item.passage.document_id] < per_document and len(chosen) < top_k:
            taken[item.passage.document_id] += 1
            chosen.append(replace(item.passage, rank=len(chosen) + 1))
    return Assembled(tuple(chosen), overtaken)


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
    return DocumentRanking(
        documents(item.chunk_id for item in ranked),
        documents(chunk_id for _, chunk_id in dense),
        documents(chunk_id for _, chunk_id in lexical),
    )


def read_texts(session: Session, chunk_ids: Sequence[int]) -> list[tuple[int, str, str]]:
    """Id, text as it is indexed (title and headings with it) and language of chunks, in the order asked.

    Chunks no longer there are left out.
    """
    rows = session.execute(
        select(Chunk.id, Document.title, Chunk.heading_path, Chunk.text, Document.language)
        .join(Document, Document.id == Chunk.document_id)
        .where(Chunk.id.in_(chunk_ids))
    )
    found = {row[0]: (row[0], "\n".join((row[1], *row[2], row[3])), row[4]) for row in rows}
    return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]


def _join(session: Session, ranked: Sequence[Ranked]) -> list[_Joined]:
    rows = session.execute(
        select(Chunk, Document.version, Document.title, Document.uri, Document.media_type, Document.language)
        .join(Document, Document.id == Chunk.document_id)
        .where(Chunk.id.in_([item.chunk_id for item in ranked]))
    )
    found = {row[0].id: row for row in rows}
    joined = []
    for item in ranked:
        if item.chunk_id not in found:
            continue
        chunk, version, title, uri, media_type, language = found[item.chunk_id]
        passage = Passage(
            rank=0,
            score=item.score,
            document_id=chunk.document_id,
            document_version=version,
            title=title,
            uri=uri,
            media_type=media_type,
            language=language,
            heading_path=tuple(chunk.heading_path),
            page_start=chunk.page_start,
            page_end=chunk.page_end,
            start=chunk.start,
            end=chunk.end,
            text=chunk.text,
            chunk_ids=(chunk.id,),
            scores=item.scores,
        )
        joined.append(_Joined(chunk.ordinal, passage))
    return joined


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
    text = session.scalar(select(Document.text).where(Document.id == first.document_id)) or ""
    passage = replace(
        best.passage,
        page_start=first.page_start,
        page_end=last.page_end,
        start=start,
        end=end,
        text=text[start:end],
        chunk_ids=tuple(item.passage.chunk_ids[0] for item in ordered),
        page_starts=tuple(
            (item.passage.start, item.passage.page_start) for item in ordered if item.passage.page_start is not None
        ),
    )
    return _Joined(best.ordinal, passage)
