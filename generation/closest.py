"""The sentences of the passages that share most with the question, pointed out to the model before it answers.

A small model that reads several passages easily answers from the wrong one; shown where the question's own words
stand, it does so less often (`docs/quality.md`). Which language model or embedder is in use does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from generation.sentences import split_sentences
from retrieval.analysis import question_terms, terms
from retrieval.passages import Passage

SHOWN = 3
LONGEST = 400  # characters of a sentence; tables and lists may have no end
RANK_DISCOUNT = 0.02  # share of the question's terms that a place further down in the search costs


@dataclass(frozen=True)
class ClosestSentence:
    """A sentence of the passage at `index`; `share` (at most 1) of the question's terms, less for later passages."""

    index: int
    text: str
    share: float


def closest_sentences(question: str, passages: Sequence[Passage]) -> list[ClosestSentence]:
    """The closest last, next to the question; none for a question whose terms no sentence has."""
    found: list[ClosestSentence] = []
    for index, passage in enumerate(passages):
        asked = set(question_terms(question, passage.language))
        for span in split_sentences(passage.text):
            text = span.of(passage.text)
            held = asked.intersection(terms(text, passage.language))
            if held:
                share = len(held) / len(asked) - RANK_DISCOUNT * passage.rank
                found.append(ClosestSentence(index, text[:LONGEST], share))
    found.sort(key=lambda sentence: -sentence.share)
    return found[:SHOWN][::-1]
