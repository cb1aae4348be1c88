"""Whether what a claim puts together stands together in the source: a number with its thing, a deed with its doer.

All words and numbers of a false claim may stand in one sentence of the source. These rules look at which of them the
same clause holds, and at what that clause says instead.
"""

import re
from difflib import SequenceMatcher

from generation import facts
from generation.reading import HAN, Clause, Reading

NEARLY_COPIED = 0.8
_COPULA = re.compile(r"是|由|为(?!了)")
_REST_OF_WORD = re.compile(r"\w*")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")


def apart(claim: Reading, clauses: list[Clause], question: Reading) -> str:
    """What of the claim the source keeps apart; empty when nothing."""
    return (
        _numbers_of_two_clauses(claim, clauses, question)
        or _word_of_anothers_clause(claim, clauses, question)
        or _word_with_its_own_number(claim, clauses, question)
        or _noun_before_another_number(claim, clauses)
        or _other_predicate(claim, clauses)
        or _one_word_exchanged(claim, clauses)
    )


def opening_names(clause: Clause) -> set[str]:
    """Names in the subject's place; a possessive ("the league's") is not a subject."""
    text = clause.read.text
    at = max(12, len(text) // 3)
    opening = text[:at] + _REST_OF_WORD.match(text[at:]).group()  # type: ignore[union-attr]  # matches ""
    return facts.names(opening) - set(re.findall(r"(\w+)['’]s\b", opening.lower()))


def anothers(clause: Clause, claim: Reading) -> bool:
    """Whether the clause tells of somebody whom the claim does not name, and the claim names others."""
    return bool(opening_names(clause) - claim.names) and bool(claim.names) and not claim.names & clause.read.names


def _names_others(clause: Clause, claim: Reading) -> bool:
    return bool(clause.read.names - claim.names) and bool(claim.names) and not claim.names & clause.read.names


def _begins_with_another(clause: Clause, claim: Reading) -> bool:
    first = " ".join(clause.read.text.split()[:2])
    return any(name not in claim.lowered for name in facts.names(first)) and anothers(clause, claim)


def _holds(clause: Clause, number: facts.Number) -> bool:
    return any(_same(number, other) for other in clause.read.numbers)


def _same(one: facts.Number, other: facts.Number) -> bool:
    return one.value == other.value and (one.unit == other.unit or not one.unit or not other.unit)


def _instead(clause: Clause, number: facts.Number, claim: Reading) -> bool:
    """Whether the clause has another number of that unit, which the claim does not have."""
    return any(
        other.unit == number.unit and not any(_same(other, said) for said in claim.numbers)
        for other in clause.read.numbers
    )


def _words(reading: Reading) -> set[str]:
    return {term for term in reading.terms if not any(c.isdigit() for c in term)}


def _numbers_of_two_clauses(claim: Reading, clauses: list[Clause], question: Reading) -> str:
    """Two numbers of the claim from two clauses, one of which has a number of its own in the other's place."""
    added = [number for number in claim.numbers if number.value not in question.values()]
    for one in added:
        for other in added:
            holding = [c for c in clauses if _holds(c, one)]
            if one is other or not other.unit or any(_holds(c, other) for c in holding):
                continue
            elsewhere = [c for c in clauses if _holds(c, other)]
            if not elsewhere or not any(_instead(c, other, claim) for c in holding):
                continue
            own = _words(claim) & _words(elsewhere[0].read) - set().union(*(_words(c.read) for c in holding))
            if not own or _names_others(elsewhere[0], claim):
                return "numbers of different things are put together"
    return ""


def _word_of_anothers_clause(claim: Reading, clauses: list[Clause], question: Reading) -> str:
    """`A designed X; B designed Y` is not `A designed Y`."""
    if HAN.search(claim.text) or not claim.names:
        return ""
    own = [clause for clause in clauses if claim.names & clause.read.names]
    for term in sorted(_words(claim) - question.terms):
        holders = [clause for clause in clauses if term in clause.read.terms]
        if own and holders and all(_begins_with_another(c, claim) for c in holders):
            return f"the source says {term!r} of another"
    return ""


def _word_with_its_own_number(claim: Reading, clauses: list[Clause], question: Reading) -> str:
    """`Begun in 1958, finished in 1963` is not `finished in 1958`."""
    added = [number for number in claim.numbers if number.value not in question.values() and _is_year(number)]
    for number in added:
        holding = [clause for clause in clauses if _holds(clause, number)]
        if not holding:
            continue
        here = set().union(*(_words(clause.read) for clause in holding))
        if here <= _words(claim) | question.terms:
            continue  # the clause says nothing else, so it may leave its verb to its neighbour
        for clause in clauses:
            missing = {
                t for t in _words(claim) & _words(clause.read) - here - question.terms - claim.names if len(t) > 1
            }
            if clause not in holding and missing and _instead(clause, number, claim):
                return f"the source has another number for {min(missing)!r}"
    return ""


def _is_year(number: facts.Number) -> bool:
    return number.unit in ("year", "") and number.value == int(number.value) and 1000 <= number.value < 2200


def _noun_before_another_number(claim: Reading, clauses: list[Clause]) -> str:
    """Chinese: the two characters before a number name what is counted (`竹器640件、瓷器85件`)."""
    for number in claim.numbers:
        noun = _before(claim, number)
        if not noun:
            continue
        placed = [(_before(c.read, n), n) for c in clauses for n in c.read.numbers]
        here = {before for before, n in placed if before and _same(n, number)}
        other = {before for before, n in placed if not _same(n, number) and n.unit == number.unit}
        if here and noun not in here and noun in other:
            return f"the source has another number for {noun!r}"
    return ""


def _before(reading: Reading, number: facts.Number) -> str:
    two = reading.text[max(0, number.start - 2) : number.start]
    return two if len(two) == 2 and _HAN_RUN.fullmatch(two) else ""


def _other_predicate(claim: Reading, clauses: list[Clause]) -> str:
    """Chinese: `X是A，Y是B` is not `Y是A`: the same words before the copula, other ones behind it."""
    said = _split(claim.text)
    if not said:
        return ""
    subject, predicate = said
    same = [rest for clause in clauses if (parts := _split(clause.read.text)) and parts[0].endswith(subject[-4:])
            for rest in [parts[1]]]  # fmt: skip
    if same and not any(rest[:2] == predicate[:2] for rest in same) and not any(predicate[:2] in rest for rest in same):
        return f"the source says another thing of {subject!r}"
    return ""


def _one_word_exchanged(claim: Reading, clauses: list[Clause]) -> str:
    """Chinese: a clause but for one or two characters, which another clause has (`客运停止，货运没有停止`)."""
    for clause in clauses:
        match = SequenceMatcher(None, clause.read.text, claim.text.rstrip("。"), autojunk=False)
        changes = [change for change in match.get_opcodes() if change[0] != "equal"]
        if match.ratio() < NEARLY_COPIED or len(changes) != 1 or changes[0][0] != "replace":
            continue
        _, a, b, c, d = changes[0]
        there, here = clause.read.text[a:b], claim.text[c:d]
        others = "".join(other.read.text for other in clauses if other is not clause)
        if len(here) <= 2 and _HAN_RUN.fullmatch(here) and _HAN_RUN.fullmatch(there) and here in others:
            return f"the source says this of {there!r}"
    return ""


def _split(text: str) -> tuple[str, str] | None:
    """What stands before and behind the only copula, two Chinese characters at least on each side."""
    parts = _COPULA.split(text)
    if len(parts) != 2:
        return None
    before, behind = (_HAN_RUN.findall(part) for part in parts)
    if not before or not behind or len(before[-1]) < 2 or len(behind[0]) < 2:
        return None
    return before[-1], behind[0]
