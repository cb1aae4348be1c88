"""The sentences of the passages that share most with the question: pointed out to the model before it answers, and
quoted behind an answer that nothing supports.

A small model that reads several passages easily answers from the wrong one; shown where the question's own words
stand, it does so less often (`docs/quality.md`). Which language model or embedder is in use does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from generation.sentences import Span, split_sentences
from retrieval.analysis import question_terms, terms
from retrieval.passages import Passage

SHOWN = 3
LONGEST = 400  # characters of a sentence; tables and lists may have no end
SAID_WEIGHT = 0.5  # of the share of an answer's own terms, beside that of the question's
RANK_DISCOUNT = 0.02  # share of the question's terms that a place further down in the search costs


@dataclass(frozen=True)
class ClosestSentence:
    """A sentence of the passage at `index`, `span` in characters of its text; `share` of the terms looked for, less for
    later passages."""

    index: int
    span: Span
    text: str
    share: float


def closest_sentences(question: str, passages: Sequence[Passage]) -> list[ClosestSentence]:
    """The closest last, next to the question; none for a question whose terms no sentence has."""
    return ranked_sentences(question, passages)[:SHOWN][::-1]


def ranked_sentences(question: str, passages: Sequence[Passage], said: str = "") -> list[ClosestSentence]:
    """Every sentence that has terms of the question, the closest first.

    Args:
        said: an answer, whose further terms count too.
    """
    found: list[ClosestSentence] = []
    for index, passage in enumerate(passages):
        asked = set(question_terms(question, passage.language))
        added = set(question_terms(said, passage.language)) - asked
        for span in split_sentences(passage.text):
            text = span.of(passage.text)
            held = set(terms(text, passage.language))
            if held & asked:
                share = _share(asked, held) + SAID_WEIGHT * _share(added, held) - RANK_DISCOUNT * passage.rank
                found.append(ClosestSentence(index, span, text, share))
    return sorted(found, key=lambda sentence: -sentence.share)


def _share(wanted: set[str], held: set[str]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0
