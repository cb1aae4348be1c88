"""How much of a question's vocabulary a chunk holds, rare terms counting more: evidence for answering or refusing."""

import math
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from folio.catalog.models import Chunk, Document
from retrieval.analysis import terms
from retrieval.lexical import LexicalSnapshot


def term_coverage(session: Session, lexical: LexicalSnapshot, query: str, chunk_ids: Sequence[int]) -> dict[int, float]:
    """For each chunk, the IDF-weighted share (0 to 1) of the question's terms that its title, headings or text hold."""
    weights = {term: _idf(lexical, term) for term in lexical.query_terms(query)}
    total = sum(weights.values())
    if not total:
        return {}
    rows = session.execute(
        select(Chunk.id, Chunk.text, Chunk.heading_path, Document.title, Document.language)
        .join(Document, Document.id == Chunk.document_id)
        .where(Chunk.id.in_(chunk_ids))
    )
    covered = {}
    for chunk_id, text, heading_path, title, language in rows:
        held = set(terms(" ".join((title, *heading_path, text)), language))
        covered[chunk_id] = sum(weight for term, weight in weights.items() if term in held) / total
    return covered


def _idf(lexical: LexicalSnapshot, term: str) -> float:
    count, total = lexical.document_frequency(term), lexical.searcher.num_docs
    return math.log(1 + (total - min(count, total) + 0.5) / (count + 0.5))
