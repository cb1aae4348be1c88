"""The chunks of an OpenAI stream, as vLLM sends them, read into tokens."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from generation.engine import Alternative, EngineToken, EngineUsage, TokenLogprob
from generation.thinking import ThinkingSplitter


def tokens_of(chunks: Iterator[Mapping[str, Any]]) -> Iterator[EngineToken]:
    """Tokens of a streamed completion; reasoning that stands in their text is moved to where it belongs."""
    splitter = ThinkingSplitter()
    for token in filter(None, map(_token, chunks)):
        thinking, text = splitter.feed(token.text)
        if token.finish_reason is not None:
            rest = splitter.finish()
            thinking, text = thinking + rest[0], text + rest[1]
        yield token if text == token.text else replace(token, text=text, thinking=token.thinking + thinking)


def _token(chunk: Mapping[str, Any]) -> EngineToken | None:
    """A chunk of the OpenAI stream as a token; None for one that says nothing. Any of its fields may be missing."""
    usage = _usage(chunk) if chunk.get("usage") else None
    if not chunk.get("choices"):
        return EngineToken(usage=usage) if usage else None
    choice = chunk["choices"][0]
    delta = choice.get("delta") or {}
    thinking = delta.get("reasoning") or delta.get("reasoning_content") or ""
    logprobs = tuple(map(_logprob, (choice.get("logprobs") or {}).get("content") or ()))
    text = delta.get("content") or ""
    finish_reason = choice.get("finish_reason")
    if not (text or thinking or logprobs or finish_reason or usage):
        return None
    return EngineToken(text, thinking, logprobs, finish_reason, usage)


def _logprob(entry: Mapping[str, Any]) -> TokenLogprob:
    alternatives = tuple(Alternative(a["token"], a["logprob"]) for a in entry.get("top_logprobs") or ())
    return TokenLogprob(entry["token"], entry["logprob"], alternatives)


def _usage(chunk: Mapping[str, Any]) -> EngineUsage:
    usage, timings = chunk["usage"], chunk.get("metrics") or {}
    read, written = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
    return EngineUsage(
        usage["prompt_tokens"],
        read.get("cached_tokens") or 0,
        usage["completion_tokens"],
        float(timings.get("queue_time_ms") or 0.0),
        written.get("reasoning_tokens") or 0,
    )
