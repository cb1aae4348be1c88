"""Widens passages to the section they stand in, for questions whose answer needs what is around it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from folio.catalog.models import Chunk
from retrieval.passages import Passage
from retrieval.reading import read_span, select_passages

CHUNKS_AROUND = 3  # at most, before and after a passage: a document without headings is one section


def widen(session: Session, passages: Iterable[Passage]) -> list[Passage]:
    """Each passage with the chunks around it that are under the same headings, none of them twice."""
    wide: list[Passage] = []
    for passage in passages:
        if any(set(passage.chunk_ids) <= set(other.chunk_ids) for other in wide):
            continue
        wide.append(_widened(session, passage, {chunk for other in wide for chunk in other.chunk_ids}))
    return wide


def _widened(session: Session, passage: Passage, taken: set[int]) -> Passage:
    ordinals = session.scalars(select(Chunk.ordinal).where(Chunk.id.in_(passage.chunk_ids))).all()
    first, last = min(ordinals), max(ordinals)
    rows = session.execute(
        select_passages()
        .where(Chunk.document_id == passage.document_id)
        .where(Chunk.ordinal.between(first - CHUNKS_AROUND, last + CHUNKS_AROUND))
        .order_by(Chunk.ordinal)
    ).all()
    inside = [
        row.ordinal in ordinals or (tuple(row.heading_path) == passage.heading_path and row.id not in taken)
        for row in rows
    ]
    start = _reach(inside, next(n for n, row in enumerate(rows) if row.ordinal == first), -1)
    end = _reach(inside, next(n for n, row in enumerate(rows) if row.ordinal == last), 1)
    section = rows[start : end + 1]
    span = section[0].start, max(row.end for row in section)
    return replace(
        passage,
        start=span[0],
        end=span[1],
        page_start=section[0].page_start,
        page_end=section[-1].page_end,
        text=read_span(session, passage.document_id, *span),
        chunk_ids=tuple(row.id for row in section),
        page_starts=tuple((row.start, row.page_start) for row in section if row.page_start is not None),
    )


def _reach(inside: Sequence[bool], position: int, step: int) -> int:
    """The last position from here on, in one direction, that is still inside."""
    while 0 <= position + step < len(inside) and inside[position + step]:
        position += step
    return position
