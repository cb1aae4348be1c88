"""The operating curve and the second look at an earlier run ask nothing again, and count as they say."""

import pytest

from generation.evaluation.answers import AnswerScore, figures
from generation.evaluation.curve import curve, decided_again
from generation.refusal import Signals

STRONG = Signals(-14, -0.1, 1, 0.9, 0.7, said_not_found=False, names_missing=0).as_dict()
WEAK = Signals(-1, -0.5, 0, 0.1, 0.1, said_not_found=False, names_missing=1).as_dict()


def outcome(name: str, *, answerable: bool, right: bool, probability: float, signals: dict[str, float]) -> AnswerScore:
    return AnswerScore(
        id=name, question="?", language="en", answerable=answerable, expected=["a"], contains=right,
        draft_contains=right, refusal_probability=probability, signals=signals, sentences=1, supported=1,
        cited=True, citations=1,
    )  # fmt: skip


@pytest.fixture
def outcomes() -> list[AnswerScore]:
    return [
        outcome("right", answerable=True, right=True, probability=0.1, signals=STRONG),
        outcome("doubted", answerable=True, right=True, probability=0.6, signals=WEAK),
        outcome("wrong", answerable=True, right=False, probability=0.3, signals=STRONG),
        outcome("absent", answerable=False, right=False, probability=0.9, signals=WEAK),
    ]


def test_the_curve_tells_right_from_wrong_at_each_threshold(outcomes: list[AnswerScore]) -> None:
    strict, loose = curve(outcomes, (0.2, 0.99))
    assert (strict.right, strict.wrong, strict.refused) == (0.25, 0.0, 0.75)
    assert (strict.refusal_recall, strict.refusal_precision) == (1.0, pytest.approx(1 / 3, abs=1e-4))
    assert (loose.right, loose.wrong, loose.refused) == (0.5, 0.5, 0.0)
    assert loose.refusal_precision is None


def test_an_earlier_run_is_decided_again(outcomes: list[AnswerScore]) -> None:
    again = decided_again(outcomes, 0.5)
    assert [s.refused for s in again] == [False, True, False, True]
    told = figures(again)
    assert told["contains"] == pytest.approx(1 / 3, abs=1e-4)
    assert told["refusal"] == {"precision": 0.5, "recall": 1.0, "unanswerable": 1}
    assert not any(s.refused for s in decided_again(outcomes, 1.0))


def test_failed_questions_are_not_on_the_curve(outcomes: list[AnswerScore]) -> None:
    failed = outcomes[0].model_copy(update={"error": "engine_failed"})
    assert curve([failed, outcomes[1]], (0.99,))[0].right == 1.0
    assert curve([failed]) == []
