"""Whether passages support a sentence of an answer, and the exact span that does.

Candidates are the sentences of the passages and pairs of neighbours. A candidate supports a claim when every fact that
the claim adds to the question stands there too, nothing contradicts, and enough of the claim's words are there. Cited
passages are searched first; a claim that another passage supports is tied to that one.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from generation import facts
from generation.alignment import misaligned
from generation.prompt import NumberedPassage
from generation.reading import FUNCTION_CHARACTERS, HAN, Reading
from generation.sentences import Span, split_sentences
from retrieval.analysis import question_terms, terms

NEW_TERMS_COVERED = 0.6  # of what the claim adds to the question; below it paraphrase and invention look alike
CJK_NEW_TERMS_COVERED = 0.5  # pairs of characters break at every rewording
CLAIM_COVERED = 0.4
SUBJECT_HELD = 0.5  # of the words that the claim repeats from the question
ECHO = 0.5  # of the question's terms; a claim that has them and adds none says only what was asked
_ASKS = re.compile(
    r"\b(?:what|who|whom|whose|which|when|where|why|how)\b|[哪谁何几]|什么|多[少大高长久远重快深宽]|怎", re.IGNORECASE
)
_CLOSED = re.compile(  # the answer may be among the question's own words
    r"\bor\b|还是|或|吗|是否|^\W*(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should)\b",
    re.IGNORECASE,
)
_NUMERAL = re.compile("(?:百分之)?[〇零一二三四五六七八九十百千万亿两]{2,}")  # compared as a number


@dataclass(frozen=True)
class Evidence:
    """The span of a passage that supports a claim, in characters of the document."""

    n: int
    span: Span
    strength: float


@dataclass(frozen=True)
class Verdict:
    """Supported by `evidence`, or not, for `reason`. `is_empty`: the sentence says nothing that could be an answer."""

    evidence: tuple[Evidence, ...] = ()
    reason: str = ""
    is_empty: bool = False

    @property
    def supported(self) -> bool:
        return bool(self.evidence)


@dataclass(frozen=True)
class _Candidate:
    n: int
    span: Span
    text: Reading


class SupportChecker:
    """Checks claims against the passages of one answer.

    Args:
        question: what was asked; what it already says need not be proved again.
        passages: everything the model was shown.
    """

    def __init__(self, question: str, passages: Sequence[NumberedPassage]) -> None:
        self._question = Reading.of(question)
        self._context = {item.n: Reading.of(_context(item)) for item in passages}
        self._candidates = [candidate for item in passages for candidate in _candidates(item)]

    def check(self, claim: str, cited: Sequence[int]) -> Verdict:
        """The verdict on a sentence without its citation marks."""
        read = Reading.of(claim)
        if not read.terms:
            return Verdict(reason="says nothing that could be checked", is_empty=True)
        if self._echoes(read):
            return Verdict(reason="only repeats the question", is_empty=True)
        best_reason, best_overlap = "no passage says this", 0.0
        found: list[Evidence] = []
        for candidate in self._candidates:
            overlap, problem = self._compare(read, candidate)
            if not problem:
                found.append(Evidence(candidate.n, candidate.span, overlap))
            elif overlap > best_overlap:
                best_reason, best_overlap = problem, overlap
        if not found:
            return Verdict(reason=best_reason)
        return Verdict(evidence=tuple(_choose(found, cited)))

    def _echoes(self, claim: Reading) -> bool:
        asked = self._question.terms
        adds = claim.terms - asked - FUNCTION_CHARACTERS
        is_open = _ASKS.search(self._question.text) and not _CLOSED.search(self._question.text)
        return bool(asked and not adds and is_open) and (
            len(claim.terms & asked) >= ECHO * len(asked - _question_words(self._question))
        )

    def _compare(self, claim: Reading, candidate: _Candidate) -> tuple[float, str]:
        """How much of the claim the candidate holds (0 to 1), and what speaks against it, if anything."""
        source, context = candidate.text, self._context[candidate.n]
        added = claim.terms - self._question.terms
        overlap = len(claim.terms & source.terms) / len(claim.terms)
        in_context = len(claim.terms & (source.terms | context.terms)) / len(claim.terms)
        covered = len(added & source.terms) / len(added) if added else overlap
        problem = (
            _numbers_differ(claim, source, self._question)
            or _months_differ(claim, source, self._question)
            or _names_differ(claim, source, context, self._question)
            or _characters_differ(claim, source, context, self._question)
            or ("one says the opposite of the other" if facts.opposite_said(claim.text, source.text) else "")
            or _subject_differs(claim, source, context, self._question)
            or misaligned(claim, source, self._question)
        )
        if problem:
            return overlap, problem
        needed = CJK_NEW_TERMS_COVERED if HAN.search(claim.text) else NEW_TERMS_COVERED
        if covered < needed or in_context < CLAIM_COVERED:
            return overlap * 0.9, "no passage says this"
        return 0.5 * overlap + 0.5 * covered + 0.2 * self._answers(source, context), ""

    def _answers(self, source: Reading, context: Reading) -> float:
        """How much of the question the candidate deals with, its passage counting half."""
        asked = self._question.terms
        if not asked:
            return 0.0
        return (len(asked & source.terms) + 0.5 * len(asked & (context.terms - source.terms))) / len(asked)


def _question_words(question: Reading) -> set[str]:
    """The question's terms that only ask."""
    return set(terms(question.text)) - set(question_terms(question.text))


def _choose(found: Sequence[Evidence], cited: Sequence[int]) -> Iterator[Evidence]:
    """The best span of each cited passage that supports the claim, or else the best span of any passage."""
    of_cited = [e for e in found if e.n in cited]
    by_passage: dict[int, Evidence] = {}
    for evidence in of_cited or found:
        held = by_passage.get(evidence.n)
        if held is None or (evidence.strength, -_length(evidence)) > (held.strength, -_length(held)):
            by_passage[evidence.n] = evidence
    ordered = sorted(by_passage.values(), key=lambda e: -e.strength)
    yield from ordered if of_cited else ordered[:1]


def _length(evidence: Evidence) -> int:
    return evidence.span.end - evidence.span.start


def _context(item: NumberedPassage) -> str:
    return "\n".join((item.passage.title, *item.passage.heading_path, item.passage.text))


def _candidates(item: NumberedPassage) -> Iterator[_Candidate]:
    text, offset = item.passage.text, item.passage.start
    spans = split_sentences(text)
    pairs = [Span(a.start, b.end) for a, b in itertools.pairwise(spans)]
    for span in (*spans, *pairs):
        yield _Candidate(item.n, Span(offset + span.start, offset + span.end), Reading.of(span.of(text)))


def _numbers_differ(claim: Reading, source: Reading, question: Reading) -> str:
    asked = {number.value for number in question.numbers}
    units: dict[Decimal, set[str]] = {}
    for number in source.numbers:
        units.setdefault(number.value, set()).add(number.unit)
    for number in claim.numbers:
        if number.value not in units:
            if number.value in asked:
                continue
            return f"the number {_plain(number)} is not in the source"
        known = units[number.value]
        if number.unit and known and "" not in known and number.unit not in known:
            return f"the unit of {_plain(number)} is another in the source"
    return ""


def _plain(number: facts.Number) -> str:
    return f"{number.value:f}"


def _months_differ(claim: Reading, source: Reading, question: Reading) -> str:
    return "the month is not in the source" if claim.months - source.months - question.months else ""


def _names_differ(claim: Reading, source: Reading, context: Reading, question: Reading) -> str:
    """Names that the claim adds must stand in the span; those of the question at least in its passage or question."""
    for name in sorted(claim.names - question.names):
        if name not in source.lowered and not (source.terms | question.terms).issuperset(terms(name)):
            if name in context.lowered and not _adds_name(name, claim, question):
                continue
            return f"{name!r} is not in the source"
    return ""


def _adds_name(name: str, claim: Reading, question: Reading) -> bool:
    return name not in question.lowered and name in claim.lowered


def _characters_differ(claim: Reading, source: Reading, context: Reading, question: Reading) -> str:
    """Two Chinese characters in a row that neither span nor question has: a name or term from elsewhere."""
    known = set(source.text) | set(question.text) | FUNCTION_CHARACTERS
    run = ""
    for character in _NUMERAL.sub(" ", claim.text) + " ":
        if HAN.match(character) and character not in known:
            run += character
            continue
        if len(run) >= 2:
            return f"{run!r} is not in the source"
        run = ""
    return ""


def _subject_differs(claim: Reading, source: Reading, context: Reading, question: Reading) -> str:
    """What the claim takes from the question must be what the passage is about."""
    restated = (claim.terms & question.terms) - FUNCTION_CHARACTERS
    if HAN.search(claim.text):  # by characters: pairs break at every rewording
        restated = frozenset(term for term in restated if len(term) == 1 or not HAN.match(term))
    held = restated & (source.terms | context.terms)
    return "the passage is about something else" if len(held) < len(restated) * SUBJECT_HELD else ""
