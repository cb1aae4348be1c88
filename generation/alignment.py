"""Whether the facts of a claim belong together in the source too: the number to that subject, the deed to that doer.

All words of a false claim may stand in one sentence ("A lost 350 men; B lost 2,100"). So the claim is laid against the
clause that tells it, and what it takes from other clauses must be something that clause leaves open.
"""

import itertools
import re
from difflib import SequenceMatcher

from generation import facts
from generation.belonging import anothers, apart, opening_names
from generation.reading import FUNCTION_CHARACTERS, HAN, Clause, Reading
from retrieval.analysis import terms

COPIED = 0.8  # of the claim in one piece
_PARTICLES = frozenset(["de", "der", "den", "van", "von", "zu", "of", "the", "la", "le", "di", "da"])
FEW_TERMS = 2  # a clause with fewer says nothing by itself

_PASSIVE = re.compile(r"\bby\b|被|由")
_BETWEEN_PARTIES = re.compile(r"[在于是由被把将对给了的和与\W\d]|击败|打败|战胜|发现|提出|超过|属于|导致|包含")
_PRONOUN = re.compile(
    r"^\s*(?:[\d年月日号]+[,，]\s*)?(?:它|他|她|其|该|这|此|同年|同时|并|(?:it|its|he|she|his|her|they|their|this|these)\b)",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"^\s*(?:its|his|her|their)\b", re.IGNORECASE)
_DENIAL_BEFORE = re.compile(r"(?:\bnot|\bno|\bnever|\bwithout|n't)\s+(?:\w+\s+){0,2}$|(?:不是|并非|没有|不|未)\w{0,3}$")


def misaligned(claim: Reading, source: Reading, question: Reading) -> str:
    """What in the claim belongs to something else in the source; empty when all fits."""
    clauses = source.clauses()
    if not clauses or _copied(claim, source, question):
        return ""
    for part in claim.clauses():
        if len(part.read.terms) < FEW_TERMS and len(claim.terms) >= FEW_TERMS:
            continue
        told = _telling_clause(part.read, clauses, question)
        problem = (
            _denied(part.read, told, source, question)
            or _number_of_another(part.read, told, clauses, question)
            or _name_from_elsewhere(part.read, told, clauses, question)
            or _words_from_elsewhere(part.read, told, source, question)
        )
        if problem:
            return problem
    return apart(claim, clauses, question) or _roles_swapped(claim, source)


def _copied(claim: Reading, source: Reading, question: Reading) -> bool:
    """Whether the claim, all that it adds included, is one stretch of the source and denies as much as that does."""
    match = SequenceMatcher(None, claim.lowered, source.lowered, autojunk=False).find_longest_match()
    stretch = claim.lowered[match.a : match.a + match.size]
    whole = match.size >= COPIED * len(claim.text) and claim.terms - question.terms <= set(terms(stretch))
    return whole and facts.negations(stretch) == facts.negations(claim.text)


def _telling_clause(claim: Reading, clauses: list[Clause], question: Reading) -> Clause:
    """The clause that holds the claim's new numbers, or else most of its terms."""
    added = claim.values() - question.values()
    return max(
        clauses,
        key=lambda clause: (
            len(added & clause.read.values()),
            len(claim.terms & clause.read.terms) + 0.5 * len((claim.terms - question.terms) & clause.read.terms),
            clause.start,
        ),
    )


def _denied(claim: Reading, told: Clause, source: Reading, question: Reading) -> str:
    denies = facts.negations(claim.text) % 2
    if denies and facts.negations(question.text) % 2:
        return ""  # it repeats what was asked
    if denies != facts.negations(told.read.text) % 2:
        return "one denies what the other says"
    if not denies:
        for term in claim.terms - question.terms:
            places = [m.start() for m in re.finditer(re.escape(term), source.lowered)]
            if places and all(_DENIAL_BEFORE.search(source.lowered[max(0, at - 24) : at]) for at in places):
                return f"the source denies {term!r}"
    return ""


def _number_of_another(claim: Reading, told: Clause, clauses: list[Clause], question: Reading) -> str:
    added = claim.values() - question.values()
    if not added & told.read.values():
        return ""
    words = {term for term in claim.terms if not any(c.isdigit() for c in term)} - _numerals(claim)
    here = words & told.read.terms
    if len(added) > 1 and added <= told.read.values():
        return ""  # "from 10 to 80 takes 18 minutes here and 41 there": the second half leaves its verb to the first
    for clause in clauses:
        others = clause.read.values() - claim.values()
        if clause is told or not others or len(words & clause.read.terms) <= len(here):
            continue
        if here <= clause.read.terms or anothers(told, claim):
            return "the number belongs to something else in the source"
    return ""


def _numerals(claim: Reading) -> set[str]:
    """Terms that are part of a number in words; they say nothing of what is counted."""
    return {term for term in claim.terms if HAN.match(term) and facts.numbers(term)}


def _name_from_elsewhere(claim: Reading, told: Clause, clauses: list[Clause], question: Reading) -> str:
    """A name that stands after the telling clause, or before it with another subject in between."""
    before = [clause for clause in clauses if clause.start < told.start]
    after = [clause for clause in clauses if clause.start > told.start]
    others = _all_names([*before, told]) - claim.names - question.names
    for name in sorted(claim.names - told.read.names):
        if name in told.read.lowered:
            continue
        holders = [clause for clause in before if name in clause.read.lowered]
        if holders:
            between = [clause for clause in before if clause.start > holders[-1].start] + [told]
            taken = any(_has_subject(clause) - claim.names for clause in between)
            wrong = taken and not _refers_back(told, claim)
        else:
            wrong = bool(others) and any(name in clause.read.lowered and not _apposition(clause) for clause in after)
        if wrong:
            return f"the source says this of another than {name!r}"
    return ""


def _refers_back(clause: Clause, claim: Reading) -> bool:
    """Whether the clause opens with a pronoun; "his daughter Ruth" is a subject of its own."""
    own = _POSSESSIVE.match(clause.read.text) and opening_names(clause) - claim.names
    return bool(_PRONOUN.match(clause.read.text)) and not own


def _has_subject(clause: Clause) -> set[str]:
    """Its subject's names; a piece of a list ("and the Southeast") has none."""
    return opening_names(clause) if len(clause.read.terms) > FEW_TERMS else set()


def _apposition(clause: Clause) -> bool:
    """Whether the clause is nothing but a name: "the Minister, Thomas Weber"."""
    return all(word[:1].isupper() or word in _PARTICLES for word in clause.read.text.split())


def _all_names(clauses: list[Clause]) -> set[str]:
    return {name for clause in clauses for name in clause.read.names}


def _words_from_elsewhere(claim: Reading, told: Clause, source: Reading, question: Reading) -> str:
    """Chinese: characters from another clause in place of the telling clause's own subject."""
    if not HAN.search(claim.text):
        return ""
    runs = [run for run in _runs(claim.text, set(told.read.text) | FUNCTION_CHARACTERS) if run not in question.text]
    foreign = [run for run in runs if run in source.text]
    if not foreign:
        return ""
    if _PRONOUN.match(told.read.text):  # it refers to what stands before it
        later = source.text.find(foreign[0]) > told.start
        return f"the source says this of another than {foreign[0]!r}" if later else ""
    known = set(claim.text) | FUNCTION_CHARACTERS
    if source.text.find(foreign[0]) > told.start:
        own = _runs(told.read.text, known)
    else:
        own = _runs(re.split(r"[在于有是为]|\d", told.read.text, maxsplit=1)[0], known | set(question.text))
    return f"the source says this of another than {foreign[0]!r}" if own else ""


def _runs(text: str, known: set[str]) -> list[str]:
    """Runs of two or more Chinese characters that are not all known."""
    return [run for run in re.findall(r"[\u3400-\u9fff]+", "".join(c if c not in known else " " for c in text))
            if len(run) >= 2]  # fmt: skip


def _roles_swapped(claim: Reading, source: Reading) -> str:
    """`A beat B` is not `B beat A`: two parties around a shared word, in the other order, in the same voice."""
    parties = _parties(claim, source)
    own_words = set(terms(" ".join(claim.names)))
    for (a_at, a), (b_at, b) in itertools.combinations(parties, 2):
        said = claim.lowered[a_at + len(a) : b_at]
        deed, is_passive = set(terms(said)) - own_words, bool(_PASSIVE.search(said))
        if _tells(source, b, a, deed, is_passive) and not _tells(source, a, b, deed, is_passive):
            return "who did it and to whom is the other way round in the source"
    return ""


def _tells(source: Reading, first: str, second: str, deed: set[str], is_passive: bool) -> bool:
    """Whether the source has words of the deed, in that voice, between the two in that order."""
    return any(
        deed & set(terms(written)) and bool(_PASSIVE.search(written)) == is_passive
        for written in _between(source.lowered, first, second)
    )


def _between(text: str, first: str, second: str) -> list[str]:
    """What stands between each `first` of a text and the next `second`."""
    stretches = []
    for found in re.finditer(re.escape(first), text):
        end = text.find(second, found.end())
        if end >= 0:
            stretches.append(text[found.end() : end])
    return stretches


def _parties(claim: Reading, source: Reading) -> list[tuple[int, str]]:
    """Names, or for Chinese the stretches that claim and source share, in the claim's order."""
    found = [(claim.lowered.find(name), name) for name in claim.names]
    if HAN.search(claim.text):
        pieces = _BETWEEN_PARTIES.split(claim.lowered)
        at = 0
        for piece in pieces:
            at = claim.lowered.find(piece, at)
            if len(piece) >= 2 and HAN.match(piece) and piece in source.lowered:
                found.append((at, piece))
            at += len(piece)
    return sorted(set(found))
