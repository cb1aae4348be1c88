"""Sentences of English, Chinese and mixed text, as exact spans; for answers and for the passages they cite.

A rule splitter: a model-based one would cost more than the check it serves, and the small libraries for this are no
longer kept. Wrong splits cost little here, because support is also looked for in pairs of neighbouring sentences.
"""

import re
from dataclasses import dataclass

MARKERS = r"(?:\s*[\[【](?:\s*(?:source|sources|来源|资料)?\s*\^?\d+(?:\s*[,，、;–-]\s*\^?\d+)*\s*)[\]】])"
MARKER = re.compile(MARKERS, re.IGNORECASE)
_CLOSERS = r"[\"'”’」』）)\]]*"
_END = re.compile(
    rf"(?P<cjk>[。！？]+{_CLOSERS}{MARKERS}*)"
    rf"|(?P<dot>[.!?…]+{_CLOSERS}{MARKERS}*)(?=\s|$|[\u3400-\u9fff])"
    r"|(?P<blank>\n\s*\n)"
    r"|(?P<item>\n(?=\s*(?:[-*•·▪◦]|\d{1,2}[.)、])\s*\S))"
    r"|(?P<line>\n)",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[“\"'])(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|e\.g|i\.e|cf|al|fig|figs|eq|no|nos|vol|pp|approx|ca|"
    r"inc|ltd|co|corp|dept|gen|col|sen|rep|gov|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|[a-z]|(?:[a-z]\.)+[a-z])$",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"(?:^|\n)\s*\d{1,2}$")


@dataclass(frozen=True)
class Span:
    """Characters `[start, end)` of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The text of the span."""
        return text[self.start : self.end]


def split_sentences(text: str, *, line_ends: bool = False) -> list[Span]:
    """Spans of the sentences in order, without surrounding white space.

    Args:
        line_ends: a line break ends a sentence (answers); else it may be a wrapped line (documents).
    """
    spans: list[Span] = []
    start = 0
    for match in _END.finditer(text):
        if _ends_sentence(text, match, start, line_ends):
            _add(spans, text, start, match.end())
            start = match.end()
    _add(spans, text, start, len(text))
    return spans


def _ends_sentence(text: str, match: re.Match[str], start: int, line_ends: bool) -> bool:
    before = text[start : match.start()]
    if match.lastgroup == "line":
        return line_ends and not before.rstrip().endswith((":", "："))
    if match.lastgroup != "dot" or not match.group().startswith("."):
        return True
    after = text[match.end() : match.end() + 2].lstrip()
    if after[:1].islower() or _LIST_NUMBER.search(before):
        return False
    return not (match.group() == "." and _ABBREVIATION.search(before))


def _add(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    trimmed = piece.strip()
    if trimmed:
        first = start + len(piece) - len(piece.lstrip())
        spans.append(Span(first, first + len(trimmed)))
