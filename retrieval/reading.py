"""Passages as the catalog has them: the one place where a chunk's row becomes a passage."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, Select, func, select
from sqlalchemy.orm import Session

from folio.catalog.models import Chunk, Document
from retrieval.passages import Passage, StageScores

_COLUMNS = (  # of a passage; entire chunks would bring their vectors
    Chunk.id, Chunk.document_id, Chunk.ordinal, Chunk.heading_path, Chunk.page_start, Chunk.page_end, Chunk.start,
    Chunk.end, Chunk.text, Document.version, Document.title, Document.address, Document.media_type, Document.language,
)  # fmt: skip


def select_passages() -> Select[Any]:
    """A query for the rows that `passage_of` takes; add where, order and limit."""
    columns: Sequence[Any] = _COLUMNS
    return select(*columns).join(Document, Document.id == Chunk.document_id)


def passage_of(row: Row[Any], score: float = 0.0, scores: StageScores = StageScores()) -> Passage:  # noqa: B008
    """A chunk as a passage, not ranked yet."""
    return Passage(
        rank=0,
        score=score,
        document_id=row.document_id,
        document_version=row.version,
        title=row.title,
        uri=row.address,
        media_type=row.media_type,
        language=row.language,
        heading_path=tuple(row.heading_path),
        page_start=row.page_start,
        page_end=row.page_end,
        start=row.start,
        end=row.end,
        text=row.text,
        chunk_ids=(row.id,),
        scores=scores,
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


def read_span(session: Session, document_id: str, start: int, end: int) -> str:
    """`document.text[start:end]`, without reading the whole text."""
    span = func.substr(Document.text, start + 1, end - start)
    text = session.scalar(select(span).where(Document.id == document_id)) or ""
    if len(text) < end - start:  # SQLite's substr ends at a NUL character
        text = (session.scalar(select(Document.text).where(Document.id == document_id)) or "")[start:end]
    return str(text)
