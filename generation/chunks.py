"""The chunks of an OpenAI stream, as vLLM sends them, read into tokens."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from generation.engine import Alternative, EngineToken, EngineUsage, TokenLogprob
from generation.thinking import ThinkingSplitter


def tokens_of(chunks: Iterator[Any]) -> Iterator[EngineToken]:
    """Tokens of a streamed completion; reasoning that stands in their text is moved to where it belongs."""
    splitter = ThinkingSplitter()
    for token in filter(None, map(_token, chunks)):
        thinking, text = splitter.feed(token.text)
        if token.finish_reason is not None:
            rest = splitter.finish()
            thinking, text = thinking + rest[0], text + rest[1]
        yield token if text == token.text else replace(token, text=text, thinking=token.thinking + thinking)


def _token(chunk: Any) -> EngineToken | None:
    """A chunk of the OpenAI stream as a token; None for one that says nothing."""
    usage = _usage(chunk) if chunk.usage else None
    if not chunk.choices:
        return EngineToken(usage=usage) if usage else None
    choice = chunk.choices[0]
    extra = choice.delta.model_extra or {}
    thinking = extra.get("reasoning") or extra.get("reasoning_content") or ""
    logprobs = tuple(_logprob(entry) for entry in (choice.logprobs.content or ())) if choice.logprobs else ()
    text = choice.delta.content or ""
    if not (text or thinking or logprobs or choice.finish_reason or usage):
        return None
    return EngineToken(text, thinking, logprobs, choice.finish_reason, usage)


def _logprob(entry: Any) -> TokenLogprob:
    alternatives = tuple(Alternative(a.token, a.logprob) for a in entry.top_logprobs)
    return TokenLogprob(entry.token, entry.logprob, alternatives)


def _usage(chunk: Any) -> EngineUsage:
    usage, timings = chunk.usage, (chunk.model_extra or {}).get("metrics") or {}
    details = usage.prompt_tokens_details
    cached = (details.cached_tokens or 0) if details else 0
    queue_ms = float(timings.get("queue_time_ms") or 0.0)
    written = usage.completion_tokens_details
    thinking = (written.reasoning_tokens or 0) if written else 0
    return EngineUsage(usage.prompt_tokens, cached, usage.completion_tokens, queue_ms, thinking)
