"""No unsupported sentence is shown as supported, and true ones are tied to the span that says them."""

import json
from pathlib import Path

import pytest

from generation.support import SupportChecker


def _read(name: str) -> list:
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text("utf-8").splitlines()]


CASES = _read("adversarial.jsonl")
# Written when the rules for the first were done, and again when those for the second were; `docs/quality.md` has the
# figures of both before and after.
LATER_CASES = _read("adversarial_held_out.jsonl")
THIRD_CASES = _read("adversarial_third.jsonl")


def check(case, passage):
    passages = [passage(p["text"], n=n, title=p["title"]) for n, p in enumerate(case["passages"], start=1)]
    return SupportChecker(case["question"], passages).check(case["claim"], case["cited"])


@pytest.mark.parametrize("written", [CASES, LATER_CASES], ids=["first", "later"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_false_claims_are_caught_and_true_ones_pass(language: str, written: list, passage) -> None:
    cases = [case for case in written if case["language"] == language]
    false = [case for case in cases if not case["supported"]]
    true = [case for case in cases if case["supported"]]
    caught = sum(not check(case, passage).supported for case in false)
    alarms = sum(not check(case, passage).supported for case in true)
    assert len(CASES) >= 120
    assert len(LATER_CASES) >= 60
    assert caught / len(false) >= 0.9
    assert alarms / len(true) <= 0.1


def test_unseen_kinds_of_falsehood_are_caught_three_times_in_four(passage) -> None:
    false = [case for case in THIRD_CASES if not case["supported"]]
    true = [case for case in THIRD_CASES if case["supported"]]
    assert sum(not check(case, passage).supported for case in false) / len(false) >= 0.75
    assert sum(not check(case, passage).supported for case in true) / len(true) <= 0.15


def test_a_true_claim_cited_to_the_wrong_passage_is_tied_to_the_right_one(passage) -> None:
    cases = [case for case in CASES + LATER_CASES if case["kind"] == "wrong passage"]
    assert cases
    for case in cases:
        assert {e.n for e in check(case, passage).evidence} == {case["right"]}, case["claim"]


def test_the_evidence_is_the_exact_sentence(passage) -> None:
    text = "Cats sleep a lot. The bridge opened in 1932 after six years. It is red."
    verdict = SupportChecker("When did the bridge open?", [passage(text, start=100)]).check("It opened in 1932.", [1])
    span = verdict.evidence[0].span
    assert "opened in 1932" in text[span.start - 100 : span.end - 100]
    assert span.end - span.start < len(text)


def test_a_short_answer_is_supported_where_the_passage_is_about_the_question(passage) -> None:
    p = passage("The Panthers defense gave up just 308 points.")
    q = "How many points did the Panthers defense give up?"
    assert SupportChecker(q, [p]).check("308", [1]).supported
    assert not SupportChecker(q, [p]).check("309", [1]).supported


def test_numbers_in_other_words_and_scripts_are_the_same_number(passage) -> None:
    p = passage("Chinchilla 模型有700亿个参数，2022年3月发表。")
    checker = SupportChecker("Chinchilla 模型有多少参数？", [p])
    assert checker.check("Chinchilla 模型有70 billion个参数。", [1]).supported
    assert not checker.check("Chinchilla 模型有7亿个参数。", [1]).supported


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("The port handled 41,000 tonnes of timber in 1857.", True),
        ("The port handled 6,500 tonnes of slate in 1857.", True),
        ("The port handled 6,500 tonnes of timber in 1857.", False),
        ("Mira Kovac designed the casing.", False),
        ("Dan Osei designed the casing.", True),
    ],
)
def test_numbers_and_deeds_stay_with_what_they_belong_to(claim: str, holds: bool, passage) -> None:
    p = passage(
        "In 1857 the port handled 41,000 tonnes of timber, but only 6,500 tonnes of slate. "
        "Mira Kovac designed the electrolyte; Dan Osei designed the casing."
    )
    assert SupportChecker("What is known?", [p]).check(claim, [1]).supported is holds


def test_an_answer_that_only_repeats_the_question_is_not_supported(passage) -> None:
    p = passage("Jamukha supported the traditional Mongolian aristocracy. The bridge at Sall is longer than the tower.")
    assert not SupportChecker("Who did Jamukha support?", [p]).check("Jamukha did support.", [1]).supported
    assert (
        SupportChecker("Did Jamukha support the aristocracy?", [p])
        .check("Jamukha supported the aristocracy.", [1])
        .supported
    )
    assert (
        SupportChecker("Which is longer, the bridge or the tower?", [p]).check("The bridge is longer.", [1]).supported
    )


@pytest.mark.parametrize(
    ("question", "claim", "is_empty"),
    [
        ("In which century was the mill at Orwick built?", "The mill was built.", True),
        ("Was the mill what they built at Orwick?", "They built the mill.", False),
        ("林恩参加决赛时多大？", "林恩参加决赛时多大。", True),
        ("在哪个世纪，工匠在奥维克建立了著名的水磨坊？", "工匠在奥维克建立了著名的水磨坊。", True),
        ("林恩是在决赛还是半决赛受伤，怎么受伤的？", "林恩在决赛受伤。", False),
        ("林恩参加决赛时多大？", "林恩参加决赛时38岁。", False),
    ],
)
def test_what_adds_nothing_to_an_open_question_is_empty(question: str, claim: str, is_empty: bool) -> None:
    assert SupportChecker(question, []).check(claim, [1]).is_empty is is_empty
