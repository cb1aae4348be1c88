"""No unsupported sentence is shown as supported, and true ones are tied to the span that says them."""

import json
from pathlib import Path

import pytest

from generation.support import SupportChecker

CASES = [json.loads(line) for line in Path(__file__).with_name("adversarial.jsonl").read_text("utf-8").splitlines()]


def check(case, passage):
    passages = [passage(p["text"], n=n, title=p["title"]) for n, p in enumerate(case["passages"], start=1)]
    return SupportChecker(case["question"], passages).check(case["claim"], case["cited"])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_false_claims_are_caught_and_true_ones_pass(language: str, passage) -> None:
    cases = [case for case in CASES if case["language"] == language]
    false = [case for case in cases if not case["supported"]]
    true = [case for case in cases if case["supported"]]
    caught = sum(not check(case, passage).supported for case in false)
    alarms = sum(not check(case, passage).supported for case in true)
    assert len(CASES) >= 120
    assert caught / len(false) >= 0.9
    assert alarms / len(true) <= 0.1


def test_a_true_claim_cited_to_the_wrong_passage_is_tied_to_the_right_one(passage) -> None:
    cases = [case for case in CASES if case["kind"] == "wrong passage"]
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
