"""The answer while it is written: raw text of the model in, clean text and checked sentences out.

Text goes out as soon as it is certain. Citation marks and the end of a sentence are held back until the sentence is
whole; then it is checked, and the marks that hold (or the right ones) are written in their place. So what was sent
is final, and a number that the model invented is never sent.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from generation.answer import Sentence
from generation.events import SentenceChecked, Token
from generation.quoting import Quotation
from generation.sentences import MARKER, MARKERS, split_sentences
from generation.support import Evidence, SupportChecker, Verdict

_ROUND = r"\s*[(（][^)）\n]{0,30}"
_OPEN = rf"(?:\s*[\[【][^\]】\n]{{0,24}}|{_ROUND})"
# Round brackets around marks, or around a lone number at the end, which small models write for a mark.
_BRACKETED = re.compile(
    rf"\s*[(（]\s*(?:from|see|source|sources|来自|来源|见|参见)?\s*:?\s*{MARKERS}+\s*[)）]"
    r"|\s*[(（](?:source\s*|来源\s*)?(?P<lone>\d)[)）](?=\W*$)",
    re.IGNORECASE,
)
# What may still belong to a sentence's end: stops, closing quotes, blanks, marks, an opened mark.
_HELD = re.compile(rf"(?:[.!?…。！？\"'”’」』）)\s]|{MARKERS}|{_ROUND}[)）]|{_OPEN}$)*$", re.IGNORECASE)
_ONLY_MARKS = re.compile(rf"(?:\s|{MARKERS})*(?:{_OPEN})?", re.IGNORECASE)
_STOP = re.compile(r"[.!?…。！？]+[\"'”’」』）)]*$")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class CheckedSentence:
    """A sentence of the answer with its verdict."""

    sentence: Sentence
    verdict: Verdict


@dataclass
class Draft:
    """One answer in the making. `text` is what has been sent; `raw` is what the model wrote."""

    checker: SupportChecker
    known: frozenset[int]
    text: str = ""
    raw: str = ""
    checked: list[CheckedSentence] = field(default_factory=list)
    _pending: str = ""
    _sent: int = 0  # characters of the pending sentence's clean text that went out
    _gap: str = ""

    def feed(self, piece: str) -> Iterator[Token | SentenceChecked]:
        """Take a piece of the model's text."""
        self.raw += piece
        self._pending += piece
        spans = split_sentences(self._pending, line_ends=True)
        if len(spans) > 1 and _ONLY_MARKS.fullmatch(self._pending, spans[-2].end):
            spans.pop()  # what looks like a new sentence may become a mark of the last one
        for span, following in itertools.pairwise(spans):
            yield from self._finish(self._pending[span.start : span.end], self._pending[span.end : following.start])
        if len(spans) > 1:
            self._pending = self._pending[spans[-1].start :]
        yield from self._send_certain()

    def finish(self) -> Iterator[Token | SentenceChecked]:
        """The model has ended."""
        if self._pending.strip():
            yield from self._finish(self._pending.strip(), "")
        self._pending = ""

    def _send_certain(self) -> Iterator[Token]:
        certain = self._pending[: _HELD.search(self._pending).start()]  # type: ignore[union-attr]  # matches ""
        clean = _clean(certain.lstrip())
        if len(clean) > self._sent:
            piece = ("" if self._sent else self._gap) + clean[self._sent :]
            self._sent = len(clean)
            self.text += piece
            yield Token(piece)

    def _finish(self, raw: str, gap: str) -> Iterator[Token | SentenceChecked]:
        clean = _clean(raw)
        body = clean.rstrip()
        if not body or not re.search(r"\w", body):
            self._sent = 0
            return
        yield from self._add(body, self.checker.check(body, [n for n in _cited(raw) if n in self.known]), gap)

    def quote(self, quotation: Quotation) -> Iterator[Token | SentenceChecked]:
        """Add what a source says, word for word, behind an answer that has ended."""
        self._gap = self._gap or ("" if self.text.endswith(("。", "！", "？")) else " ")
        yield from self._add(quotation.text, Verdict(evidence=(Evidence(quotation.n, quotation.span, 1.0),)), "")

    def _add(self, body: str, verdict: Verdict, gap: str) -> Iterator[Token | SentenceChecked]:
        """Send what is not yet sent of a checked sentence."""
        start = len(self.text) - self._sent if self._sent else len(self.text) + len(self._gap)
        whole = _with_marks(body, [e.n for e in verdict.evidence])
        piece = ("" if self._sent else self._gap) + whole[self._sent :]
        self.text += piece
        self._sent, self._gap = 0, gap or (" " if whole[-1:].isascii() else "")
        if piece:
            yield Token(piece)
        numbers = sorted({e.n for e in verdict.evidence})
        sentence = Sentence(
            text=whole,
            start=start,
            end=start + len(whole),
            citations=numbers,
            supported=verdict.supported,
            reason=verdict.reason,
        )
        self.checked.append(CheckedSentence(sentence, verdict))
        yield SentenceChecked(sentence)


def _clean(raw: str) -> str:
    return MARKER.sub("", _BRACKETED.sub("", raw))


def _cited(raw: str) -> list[int]:
    lone = [int(m["lone"]) for m in _BRACKETED.finditer(raw) if m["lone"]]
    return lone + [int(digits) for mark in MARKER.findall(raw) for digits in _DIGITS.findall(mark)]


def _with_marks(body: str, numbers: Sequence[int]) -> str:
    """The sentence with its marks before the full stop."""
    if not numbers:
        return body
    stop = _STOP.search(body)
    at = stop.start() if stop else len(body)
    marks = "".join(f"[{n}]" for n in sorted(set(numbers)))
    return f"{body[:at].rstrip()} {marks}{body[at:]}"
