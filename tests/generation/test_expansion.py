"""Further queries for a question."""

import pytest

from generation.engine import EngineToken
from generation.expansion import expand


class Writes:
    """An engine that writes one fixed reply."""

    def __init__(self, reply: str) -> None:
        self.reply = reply

    def stream_chat(self, request):
        self.request = request
        yield EngineToken(text=self.reply)


@pytest.mark.parametrize("how", ["parts", "queries", "hyde"])
def test_the_models_queries_are_used_without_repeats_and_without_the_question_itself(how):
    engine = Writes('["Who built it?", " Who built it? ", "When and who?", ""]')
    assert expand(engine, "When and who?", how) == ("Who built it?",)
    assert engine.request.json_schema["maxItems"] == 3


def test_a_reply_that_was_cut_off_adds_nothing():
    assert expand(Writes('["Who bui'), "When and who?", "parts") == ()


@pytest.mark.engine
def test_the_real_model_splits_a_question(engine_url):
    from generation.pool import VllmEngine

    engine = VllmEngine((engine_url,))
    try:
        parts = expand(engine, "How do whales breathe, and how is green tea brewed?", "parts")
    finally:
        engine.close()
    assert any("tea" in part and "whale" not in part.lower() for part in parts)
