"""What is sent while an answer is written is final: right marks only, however the model's text is cut into tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.draft import Draft
from generation.events import Token
from generation.support import SupportChecker

PASSAGES = ("The Panthers gave up 308 points. They ranked sixth in the league.", "黑豹队防守失分308分，排名第六。")
QUESTION = "How many points did the Panthers give up?"


@pytest.fixture
def write(passage):
    """Writes a raw answer in pieces; what was sent, and the draft."""

    def run(raw: str, size: int = 3):
        passages = [passage(text, n=n) for n, text in enumerate(PASSAGES, start=1)]
        draft = Draft(SupportChecker(QUESTION, passages), frozenset({1, 2}))
        events = [e for i in range(0, len(raw), size) for e in draft.feed(raw[i : i + size])] + list(draft.finish())
        return "".join(e.text for e in events if isinstance(e, Token)), draft

    return run


@pytest.mark.parametrize("size", [1, 2, 5, 200])
@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ("The Panthers gave up 308 points [1][9].", "The Panthers gave up 308 points [1]."),
        ("The Panthers gave up 308 points.", "The Panthers gave up 308 points [1]."),
        ("308 points (from [2])", "308 points [1]"),
        ("308 points (1)", "308 points [1]"),
        ("失分308分[7]。", "失分308分 [2]。"),
        ("They ranked sixth [77]. They gave up 309 points [1].", "They ranked sixth [1]. They gave up 309 points."),
    ],
)
def test_only_marks_that_hold_are_sent(write, raw: str, sent: str, size: int) -> None:
    text, draft = write(raw, size)
    assert text == sent
    assert text == draft.text


@given(
    st.lists(
        st.sampled_from(["308 points", " [3]", "[1, 8]", "【12】", ". ", "\n", "(x)", "（[2]）", "[", "。", "sixth"])
    )
)
def test_an_invented_number_never_reaches_the_reader(pieces: list[str]) -> None:
    from generation_test_passages import passage

    passages = [passage(text, n=n) for n, text in enumerate(PASSAGES, start=1)]
    draft = Draft(SupportChecker(QUESTION, passages), frozenset({1, 2}))
    events = [e for piece in pieces for e in draft.feed(piece)] + list(draft.finish())
    sent = "".join(e.text for e in events if isinstance(e, Token))
    assert not any(mark in sent for mark in ("[3]", "[8]", "12】", "[1, 8]"))
    assert sent == draft.text
    assert all(sent[c.sentence.start : c.sentence.end] == c.sentence.text for c in draft.checked)
