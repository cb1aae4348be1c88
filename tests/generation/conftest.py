"""Passages in one line, an engine that says in its name that it is a script, and a server that speaks as vLLM does."""

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from generation.engine import EngineHealth, EngineToken, EngineUsage, GenerationRequest, Message

_spec = importlib.util.spec_from_file_location("generation_test_passages", Path(__file__).with_name("passages.py"))
_module = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _module
_spec.loader.exec_module(_module)


class FakeScriptedEngine:
    """Writes the same pieces for every request; a token is four characters."""

    def __init__(self, *pieces: EngineToken | str, context: int = 4096) -> None:
        self.pieces = pieces
        self.context = context
        self.requests: list[GenerationRequest] = []
        self.closed = 0
        self.waiting = 0
        self.ready = True

    def health(self) -> EngineHealth:
        state = "ready" if self.ready else "starting"
        return EngineHealth(self.ready, state, "", "fake", self.context, 0, self.waiting, 0.0)

    def context_length(self) -> int:
        return self.context

    def model_name(self) -> str:
        return "fake-scripted-engine"

    def count_messages(self, messages: Sequence[Message]) -> int:
        return sum(self.count_text(m.content) + 4 for m in messages)

    def count_text(self, text: str) -> int:
        return (len(text) + 3) // 4

    def stream_chat(self, request: GenerationRequest) -> Iterator[EngineToken]:
        self.requests.append(request)
        try:
            for piece in self.pieces:
                yield EngineToken(piece) if isinstance(piece, str) else piece
            yield EngineToken(finish_reason="stop", usage=EngineUsage(100, 64, 10))
        finally:
            self.closed += 1


@pytest.fixture
def passage():
    """Makes a numbered passage of a text."""
    return _module.passage


@pytest.fixture
def scripted():
    """Makes an engine that follows a script."""
    return FakeScriptedEngine
