"""Follow-up questions made whole, so that the search finds what `it` means. Whole questions are left alone."""

import re
from collections.abc import Sequence

from generation.answer import Sampling, Turn
from generation.engine import Engine, GenerationRequest, Message
from generation.neutral import neutralise
from retrieval.analysis import terms

REWRITE_TOKENS = 64
TURNS_READ = 2
ANSWER_CHARACTERS = 300
FEW_TERMS = 2
_REFERS_BACK = re.compile(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|this|that|these|those|there|one|ones|former|latter|same|"
    r"what about|how about|and (?:the|in|for|when|why|how|who))\b"
    r"|[它他她其]|这|那|该|此|上面|前者|后者|呢[？?]?$",
    re.IGNORECASE,
)
_INSTRUCTION = (
    "Rewrite the last question so that it can be understood alone: replace words that refer back by what they mean. "
    "Keep its language. Reply with the rewritten question only."
)


def needs_context(question: str) -> bool:
    """Whether the question refers back, or is too short to search for by itself."""
    return bool(_REFERS_BACK.search(question)) or len(set(terms(question))) <= FEW_TERMS


def rewrite(engine: Engine, history: Sequence[Turn], question: str) -> str:
    """The question with its references resolved by the model; as it was, if the model writes nothing."""
    earlier = "\n".join(
        f"Q: {neutralise(turn.question)}\nA: {neutralise(turn.answer[:ANSWER_CHARACTERS])}"
        for turn in history[-TURNS_READ:]
    )
    messages = (
        Message("system", _INSTRUCTION),
        Message("user", f"{earlier}\n\nLast question: {neutralise(question)}\nRewritten question:"),
    )
    request = GenerationRequest(messages, Sampling(stop=["\n"]), REWRITE_TOKENS)
    written = "".join(token.text for token in engine.stream_chat(request)).strip().strip('"')
    return written or question
