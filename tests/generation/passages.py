"""Passages for tests, made in one line."""

from generation.prompt import NumberedPassage
from retrieval.passages import Passage, StageScores


def passage(text: str, *, n: int = 1, title: str = "Title", start: int = 0, coverage: float = 1.0) -> NumberedPassage:
    """A passage of a document whose text before it is not known."""
    return NumberedPassage(
        n,
        Passage(
            rank=n,
            score=1.0,
            document_id=f"document{n}",
            document_version=1,
            title=title,
            uri=f"{n}.txt",
            media_type="text/plain",
            language="",
            heading_path=(),
            page_start=None,
            page_end=None,
            start=start,
            end=start + len(text),
            text=text,
            chunk_ids=(n,),
            scores=StageScores(dense_score=0.7, term_coverage=coverage),
        ),
    )
