"""Sentences are found in English, Chinese and mixed text, as exact spans."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S. gave 3.5 points. Dr. Smith e.g. ran.", ["The U.S. gave 3.5 points.", "Dr. Smith e.g. ran."]),
        ("It fell. [1] Then it rose [2].", ["It fell. [1]", "Then it rose [2]."]),
        ("它减少了浪费。[1]这是第二句【2】。好", ["它减少了浪费。[1]", "这是第二句【2】。", "好"]),
        ("Steps:\n1. one\n2. two", ["Steps:", "1. one", "2. two"]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert [span.of(text) for span in split_sentences(text, line_ends=True)] == expected


def test_a_wrapped_line_of_a_document_is_one_sentence() -> None:
    assert len(split_sentences("a wrapped line\nof text.")) == 1


@given(st.text(alphabet="ab .。！?\n[1]（）", max_size=60))
def test_spans_never_overlap_and_lose_no_letter(text: str) -> None:
    spans = split_sentences(text)
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    kept = "".join(span.of(text) for span in spans)
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]
