"""What the sources say themselves, quoted behind an answer of which no sentence could be tied to them.

A small model often finds the right place and then garbles it. The reader gets the unchecked words marked as such, and
beside them the sentence that they most likely come from, word for word (`docs/quality.md` shows how often that helps).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from generation.prompt import NumberedPassage
from generation.sentences import MARKERS, Span, split_sentences
from retrieval.analysis import question_terms, terms

SAID_WEIGHT = 0.5  # of the share of the answer's own terms, beside that of the question's
RANK_DISCOUNT = 0.02  # share of terms that a place further down in the search costs
LONGEST = 800  # characters; tables and lists may have no end
_MARKER = re.compile(MARKERS, re.IGNORECASE)
_FRAMES = {
    "en": "The sources say: “{quote}”.",
    "zh": "原文是：“{quote}”。",
    "de": "In den Quellen steht: „{quote}“.",
    "fr": "Les sources disent : « {quote} ».",
    "es": "Las fuentes dicen: «{quote}».",
    "ja": "原文：「{quote}」。",
    "ko": "원문: “{quote}”.",
    "ru": "В источниках сказано: «{quote}».",
}


@dataclass(frozen=True)
class Quotation:
    """A sentence of the passage numbered `n`; `span` in characters of its document, `text` as it is shown."""

    n: int
    span: Span
    text: str


def quotation(question: str, said: str, passages: Sequence[NumberedPassage], language: str) -> Quotation | None:
    """The sentence that shares most with question and answer; None where none shares anything with the question.

    Args:
        said: the answer that could not be tied to a source.
        language: of the words around the quote (ISO 639-1); English where there are none for it.
    """
    best: tuple[float, NumberedPassage, Span] | None = None
    for item in passages:
        passage = item.passage
        asked = set(question_terms(question, passage.language))
        added = set(question_terms(said, passage.language)) - asked
        for span in split_sentences(passage.text):
            held = set(terms(span.of(passage.text), passage.language))
            if span.end - span.start > LONGEST or not held & asked:
                continue
            score = _share(asked, held) + SAID_WEIGHT * _share(added, held) - RANK_DISCOUNT * passage.rank
            if best is None or score > best[0]:
                best = (score, item, span)
    if best is None:
        return None
    _, item, span = best
    quote = " ".join(_MARKER.sub("", span.of(item.passage.text)).split()).rstrip(".。")
    offset = item.passage.start
    text = _FRAMES.get(language, _FRAMES["en"]).format(quote=quote)
    return Quotation(item.n, Span(offset + span.start, offset + span.end), text)


def _share(wanted: set[str], held: set[str]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0
