"""What the sources say themselves, quoted behind an answer of which no sentence could be tied to them.

A small model often finds the right place and then garbles it. The reader gets the unchecked words marked as such, and
beside them the sentence that they most likely come from, word for word (`docs/quality.md` shows how often that helps).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from generation.closest import ranked_sentences
from generation.prompt import NumberedPassage
from generation.sentences import MARKER, Span

LONGEST = 800  # characters; tables and lists may have no end
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
    ranked = ranked_sentences(question, [item.passage for item in passages], said)
    best = next((sentence for sentence in ranked if len(sentence.text) <= LONGEST), None)
    if best is None:
        return None
    item = passages[best.index]
    quote = " ".join(MARKER.sub("", best.text).split()).rstrip(".。")
    offset = item.passage.start
    text = _FRAMES.get(language, _FRAMES["en"]).format(quote=quote)
    return Quotation(item.n, Span(offset + best.span.start, offset + best.span.end), text)
