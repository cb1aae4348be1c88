"""Further queries for a question, written by the served model: on request only, as each costs a generation.

`parts` takes a question of several parts asunder, `queries` words it in other ways, and `hyde` guesses a passage that
would answer it (Gao 2022). Retrieval fuses what they find with what the question itself finds.
"""

import json
from typing import Any, Literal

from generation.answer import Sampling
from generation.engine import Engine, GenerationRequest, Message
from generation.neutral import neutralise

Expansion = Literal["parts", "queries", "hyde"]

MOST_QUERIES = 3
TOKENS = 128
_INSTRUCTIONS: dict[Expansion, str] = {
    "parts": "Split the question into the separate questions it consists of, each understandable alone. "
    "A question of one part stays as it is.",
    "queries": "Word the question in up to three other ways, with other terms for the same things.",
    "hyde": "Write a short passage of two or three sentences that could stand in a document and answer the question.",
}
_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string", "maxLength": 400},
    "minItems": 1,
    "maxItems": MOST_QUERIES,
}


def expand(engine: Engine, question: str, how: Expansion) -> tuple[str, ...]:
    """Queries to search for beside the question; none when the model writes nothing that can be used.

    Raises:
        EngineNotReady: no engine answers.
        EngineFailed: the engine broke off.
    """
    instruction = f"{_INSTRUCTIONS[how]} Keep the question's language. Reply with a JSON array of strings."
    messages = (Message("system", instruction), Message("user", neutralise(question)))
    request = GenerationRequest(messages, Sampling(), TOKENS, json_schema=_SCHEMA)
    written = "".join(token.text for token in engine.stream_chat(request))
    try:
        queries = json.loads(written)
    except json.JSONDecodeError:  # cut off at the token limit
        return ()
    return tuple(dict.fromkeys(q.strip() for q in queries if q.strip() and q.strip() != question.strip()))
