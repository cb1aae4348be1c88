"""A text as the support check reads it: folded, with its terms, numbers, months and names."""

import re
from dataclasses import dataclass

from generation import facts
from retrieval.analysis import terms

JOINED_WORDS = 4
FUNCTION_CHARACTERS = frozenset(
    "的了是在和由于被与及也就都而其为以这那个有之对把从到向上中下里后前时将能会可所等或并且但则因此使用给做当该它他她们么什"
    "着过来去说即如若又还再已经很更最每各一种样进行通主要需"
)  # Chinese characters that carry grammar rather than facts
HAN = re.compile(r"[\u3400-\u9fff]")
_DATE = re.compile(r"[\d年月日号]|\b(?:in|on|of|January|February|March|April|May|June|July|August|September|October|"
                   r"November|December)\b", re.IGNORECASE)  # fmt: skip
_WORD = re.compile(r"\w")
_CLAUSE = re.compile(
    r"(?<!\d)[,，]|[,，](?!\d)|[;；()（）。！？]|[.!?](?=\s|$)|\b(?:while|whereas|but|and)\b|而(?!且)|但是?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reading:
    """A text with what the check compares. `text` is folded; it is not the document's."""

    text: str
    terms: frozenset[str]
    numbers: tuple[facts.Number, ...]
    months: frozenset[int]
    names: frozenset[str]
    lowered: str

    @classmethod
    def of(cls, text: str) -> "Reading":
        """Read a text."""
        folded = facts.fold(text)
        return cls(
            folded,
            frozenset(terms(folded)),
            tuple(facts.numbers(folded)),
            frozenset(facts.months(folded)),
            frozenset(facts.names(folded)),
            folded.lower(),
        )

    def values(self) -> set[object]:
        """The numbers without their units."""
        return {number.value for number in self.numbers}

    def clauses(self) -> "list[Clause]":
        """The text cut at commas, semicolons, brackets and conjunctions."""
        pieces, start = [], 0
        for match in (*_CLAUSE.finditer(self.text), None):
            end = match.start() if match else len(self.text)
            if match and self._goes_on(start, match):
                continue
            if self.text[start:end].strip():
                pieces.append(Clause(start, Reading.of(self.text[start:end])))
            start = match.end() if match else end
        return pieces

    def _goes_on(self, start: int, match: re.Match[str]) -> bool:
        """A date alone belongs to what follows, and `and` joins two names rather than two clauses after few words."""
        piece = self.text[start : match.start()]
        if not _WORD.search(_DATE.sub(" ", piece)):
            return True
        return match.group().lower() == "and" and len(piece.split()) < JOINED_WORDS


@dataclass(frozen=True)
class Clause:
    """A part of a sentence; `start` is its place in the sentence's folded text."""

    start: int
    read: Reading
