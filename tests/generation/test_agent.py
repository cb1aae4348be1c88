"""Agent mode stays within its bounds, whatever the model asks for."""

import json

import pytest

from generation import agent
from generation.answer import AskRequest
from generation.engine import EngineToken
from generation.receipts import Receipts

QUESTION = "Who founded the Larkmoor Observatory?"
ANSWER = "The Larkmoor Observatory was founded in 1874 by Edmund Hale [1]."


@pytest.fixture
def calling(scripted):
    """Makes an engine that asks for the given tools, one after the other, and then answers."""

    class FakeCallingEngine(scripted):
        calls: tuple[dict, ...] = ()
        asked = 0

        def stream_chat(self, request):
            if request.json_schema is None:
                yield from super().stream_chat(request)
                return
            call = self.calls[min(self.asked, len(self.calls) - 1)]
            self.asked += 1
            yield from map(EngineToken, json.dumps(call))

    def make(*calls: dict):
        engine = FakeCallingEngine(ANSWER)
        engine.calls = calls
        return engine

    return make


def steps_of(answerer, catalog, question: str = QUESTION):
    answer = answerer.ask(AskRequest(question=question, mode="agent"))
    return Receipts(catalog).get(answer.answer_id).steps


def test_calls_are_bounded_in_number(answerer_over, calling, catalog) -> None:
    engine = calling(*({"tool": "search", "argument": f"mirror {n}"} for n in range(20)))
    assert len(steps_of(answerer_over(engine), catalog)) == agent.MAX_STEPS


def test_calls_are_bounded_in_time(answerer_over, calling, catalog, monkeypatch) -> None:
    monkeypatch.setattr(agent, "MAX_SECONDS", 0.0)
    engine = calling({"tool": "search", "argument": "mirror"})
    assert steps_of(answerer_over(engine), catalog) == []
    assert engine.asked == 0


def test_the_same_call_twice_ends_the_search(answerer_over, calling, catalog) -> None:
    engine = calling({"tool": "search", "argument": "mirror"})
    assert len(steps_of(answerer_over(engine), catalog)) == 1


@pytest.mark.parametrize(
    "call",
    [
        {"tool": "rm", "argument": "/"},
        {"tool": "search", "argument": "x" * 301},
        {"tool": "search", "argument": "mirror", "more": 1},
        {"tool": "answer", "argument": ""},
    ],
)
def test_what_is_not_a_call_of_a_tool_runs_nothing(answerer_over, calling, catalog, call) -> None:
    assert steps_of(answerer_over(calling(call)), catalog) == []


def test_a_document_that_the_reader_may_not_see_is_not_read(answerer_over, calling, catalog) -> None:
    engine = calling({"tool": "read_document", "argument": "Secret"}, {"tool": "answer", "argument": ""})
    [step] = steps_of(answerer_over(engine), catalog)
    assert "no document" in step.result
