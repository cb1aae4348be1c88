"""An answer of which nothing could be tied to a source is followed by what a source says, word for word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folio.catalog import Catalog
from folio.catalog.models import Document
from generation.answer import AskRequest
from generation.events import Done, SentenceChecked, Token
from generation.quoting import quotation

MIRROR = "How wide is the mirror of the Larkmoor Observatory?"
WRONG = "The mirror of the Larkmoor Observatory measures 19 centimetres."


def test_the_sentence_of_the_source_follows_an_unsupported_answer(answerer_over, scripted, catalog: Catalog) -> None:
    events = list(answerer_over(scripted(WRONG), refusal_threshold=0.9).stream(AskRequest(question=MIRROR)))
    assert isinstance(events[-1], Done)
    answer = events[-1].answer
    assert answer.answer == f"{WRONG} The sources say: “Its mirror measures 91 centimetres” [1]."
    assert "".join(e.text for e in events if isinstance(e, Token)) == answer.answer
    assert [e.sentence for e in events if isinstance(e, SentenceChecked)] == answer.sentences
    assert [s.supported for s in answer.sentences] == [False, True]
    assert all(answer.answer[s.start : s.end] == s.text for s in answer.sentences)
    with catalog.read() as session:
        text = session.get(Document, answer.citations[0].document_id).text
    citation = answer.citations[0]
    assert citation.quote == text[citation.start : citation.end] == "Its mirror measures 91 centimetres."


@pytest.mark.parametrize(
    ("written", "finish_reason"),
    [("Its mirror measures 91 centimetres [1].", "stop"), (WRONG, "length")],
    ids=["supported", "cut"],
)
def test_nothing_follows_an_answer_that_holds_or_was_cut(
    answerer_over, scripted, written: str, finish_reason: str
) -> None:
    engine = scripted(written, finish_reason=finish_reason)
    answer = answerer_over(engine, refusal_threshold=0.9).ask(AskRequest(question=MIRROR))
    assert not answer.refused
    assert "sources say" not in answer.answer


def test_the_words_around_it_are_in_the_questions_language_and_marks_of_the_document_are_left_out(passage) -> None:
    passages = [passage("望远镜建于1874年。镜面直径为91厘米[3]。", start=100)]
    found = quotation("镜面直径是多少？", "镜面直径是19厘米", passages, "zh")
    assert found is not None
    assert found.text == "原文是：“镜面直径为91厘米”。"
    assert (found.span.start, found.span.end) == (111, 124)


def test_a_passage_that_shares_nothing_with_the_question_is_not_quoted(passage) -> None:
    assert (
        quotation("Who is the king of Spain?", "Felipe", [passage("Its mirror measures 91 centimetres.")], "en") is None
    )


@given(st.lists(st.sampled_from(["mirror ", "wide ", "Larkmoor.", " ", "\n", "镜面", "。", "[1]", "19 cm"])))
def test_a_quotation_is_a_span_of_its_passage(pieces: list[str]) -> None:
    from generation_test_passages import passage

    text = "".join(pieces)
    found = quotation(MIRROR, WRONG, [passage(text, start=7)], "en")
    if found is not None:
        quoted = text[found.span.start - 7 : found.span.end - 7]
        assert quoted
        assert quoted == quoted.strip()
