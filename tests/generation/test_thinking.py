"""Reasoning stays apart from the answer, whoever tells the two apart: vLLM's parser, or Folio where there is none."""

from contextlib import closing

import pytest

from generation.answer import AskRequest, Sampling
from generation.engine import EngineToken, EngineUsage, GenerationRequest, Message
from generation.pool import VllmEngine
from generation.thinking import ThinkingSplitter

QUESTION = "Who founded the Larkmoor Observatory?"
ANSWER = "The Larkmoor Observatory was founded in 1874 by Edmund Hale [1]."


def split(*pieces: str) -> tuple[str, str]:
    splitter = ThinkingSplitter()
    parts = [splitter.feed(piece) for piece in pieces] + [splitter.finish()]
    return "".join(thinking for thinking, _ in parts), "".join(text for _, text in parts)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("written", "thinking", "text"),
    [
        ("<think>a < b</think>\n\nThe answer.", "a < b", "The answer."),
        ("\n<think></think>Yes.", "", "Yes."),
        ("<think>never closed </thi", "never closed </thi", ""),
        ("Plain <think>text</think>.", "", "Plain <think>text</think>."),
        ("<thin ice>", "", "<thin ice>"),
        ("<thi", "", "<thi"),
        ("", "", ""),
    ],
)
def test_thinking_at_the_beginning_is_taken_apart_however_it_is_cut(size, written, thinking, text) -> None:
    pieces = [written[at : at + size] for at in range(0, len(written), size)]
    assert split(*pieces) == (thinking, text)


@pytest.mark.parametrize(
    "pieces",
    [
        [{"reasoning": "It says "}, {"reasoning": "1874."}, {"content": "In 1874."}],
        [{"content": "<think>It says"}, {"content": " 1874.</th"}, {"content": "ink>In 1874."}],
    ],
    ids=["vLLM's parser", "tags in the text"],
)
def test_both_ways_reach_folio_alike_and_are_counted(fake_vllm, pieces) -> None:
    server = fake_vllm()
    server.pieces = pieces
    server.usage = {**server.usage, "completion_tokens_details": {"reasoning_tokens": 5}}
    request = GenerationRequest((Message("user", "When?"),), Sampling(), 64, thinking_tokens=32)
    with closing(VllmEngine([server.url])) as engine:
        tokens = list(engine.stream_chat(request))
    assert "".join(token.text for token in tokens) == "In 1874."
    assert "".join(token.thinking for token in tokens) == "It says 1874."
    assert tokens[-1].usage.thinking_tokens == 5
    assert server.chats[0]["thinking_token_budget"] == 32


def test_thinking_has_a_budget_of_its_own_and_never_reaches_the_answer(answerer_over, scripted) -> None:
    thought = EngineToken(thinking="The mirror measures 91 centimetres [1]. ")
    engine = scripted(thought, ANSWER)
    engine.usage = EngineUsage(100, 64, 300, thinking_tokens=280)
    answer = answerer_over(engine, thinking_tokens=1000, answer_tokens=200).ask(AskRequest(question=QUESTION))
    asked = engine.requests[-1]
    assert (asked.max_tokens, asked.thinking_tokens) == (1200, 1000)
    assert answer.answer == ANSWER
    assert all("mirror" not in citation.quote for citation in answer.citations)
    assert answer.usage.thinking_tokens == 280


def test_thinking_that_used_everything_up_is_no_answer(answerer_over, scripted) -> None:
    answer = answerer_over(scripted(EngineToken(thinking="Let me see. "))).ask(AskRequest(question=QUESTION))
    assert answer.refused
    assert "Let me see" not in answer.answer
