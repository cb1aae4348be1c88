"""A follow-up over the same passages finds them in the engine's prefix cache, and says so."""

from contextlib import closing

import pytest

from generation.answer import Sampling, Turn
from generation.engine import GenerationRequest, Message
from generation.pool import VllmEngine
from generation.prompt import render

pytestmark = pytest.mark.engine
LEAST_REUSED = 0.7  # of what both prompts begin with; the engine caches whole blocks, 128 tokens on a CPU


def test_a_follow_up_reuses_the_passages(engine_url: str, passage) -> None:
    topics = ("harbour", "lighthouse", "railway")
    texts = [" ".join(f"The {t} of Sall has {n} lamps in row {n}." for n in range(25)) for t in topics]
    passages = [passage(text, n=n, title=f"Sall {n}") for n, text in enumerate(texts, start=1)]
    first = render("How many lamps are in row 7 of the harbour?", passages, [])
    history = [Turn("How many lamps are in row 7 of the harbour?", "It has 7 lamps [1].")]
    second = render("And of the lighthouse?", passages, history, "How many lamps are in row 7 of the lighthouse?")
    with closing(VllmEngine([engine_url], idle_timeout_s=300)) as engine:
        shared = engine.count_messages([first[0], Message("user", first[1].content.partition("Sentences closest")[0])])
        for messages in (first, second):
            tokens = list(engine.stream_chat(GenerationRequest(messages, Sampling(), 8)))
        usage = next(token.usage for token in reversed(tokens) if token.usage)
    assert usage.cached_tokens >= LEAST_REUSED * shared
