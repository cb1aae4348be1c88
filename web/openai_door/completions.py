"""An answer in OpenAI's shapes: one completion object, or chunks while it is made; citations become annotations."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

from generation.answer import Answer, Citation
from generation.events import Done, Event, Failed, Thinking, Token
from web.errors import problem_of
from web.sse import HEARTBEAT
from web.streams import AnswerStream

NUMBER = re.compile(r"\[(\d+)\]")


def completion(answer: Answer, model: str, base_url: str) -> dict[str, Any]:
    """A whole answer as a `chat.completion`."""
    message = {
        "role": "assistant",
        "content": answer.answer,
        "refusal": None,
        "annotations": annotations(answer, base_url),
    }
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    return {
        "id": f"chatcmpl-{answer.answer_id}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": usage(answer),
        "folio": {"answer_id": answer.answer_id, "refused": answer.refused},
    }


def annotations(answer: Answer, base_url: str) -> list[dict[str, Any]]:
    """One `url_citation` for every `[n]` in the text; the exact span is in its `folio` member."""
    by_number = {citation.n: citation for citation in answer.citations}
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": found.start(),
                "end_index": found.end(),
                "title": by_number[int(found[1])].title,
                "url": _address(by_number[int(found[1])], base_url),
            },
            "folio": by_number[int(found[1])].model_dump(mode="json"),
        }
        for found in NUMBER.finditer(answer.answer)
        if int(found[1]) in by_number
    ]


def usage(answer: Answer) -> dict[str, Any]:
    """Token counts as OpenAI names them."""
    used = answer.usage
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": used.thinking_tokens},
    }


def chunks(stream: AnswerStream, model: str, base_url: str, include_usage: bool, request_id: str) -> Iterator[str]:
    """An answer in the making as `chat.completion.chunk` events, ended by `[DONE]`.

    The text streamed is what the checks let through; where the finished text differs from what was streamed (a refusal
    after the fact), the last chunk carries the finished text in its `folio` member.
    """
    base = {
        "id": f"chatcmpl-{stream.id}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
    }
    yield _data(base | {"choices": [_choice({"role": "assistant", "content": ""})]})
    for batch in stream.follow():
        yield "".join(_of_event(event, base, base_url, include_usage, request_id) for _, event in batch) or HEARTBEAT
    yield "data: [DONE]\n\n"


def _of_event(event: Event, base: dict[str, Any], base_url: str, include_usage: bool, request_id: str) -> str:
    match event:
        case Token(text):
            return _data(base | {"choices": [_choice({"content": text})]})
        case Thinking(text):
            return _data(base | {"choices": [_choice({"reasoning_content": text})]})
        case Done(answer):
            return _last_chunks(answer, base, base_url, include_usage)
        case Failed(error):
            problem = problem_of(error, request_id)
            return _data({"error": {"message": problem.detail, "type": problem.title, "code": problem.code}})
        case _:
            return ""


def _last_chunks(answer: Answer, base: dict[str, Any], base_url: str, include_usage: bool) -> str:
    last = base | {
        "choices": [_choice({"annotations": annotations(answer, base_url)}, finish_reason="stop")],
        "folio": {"answer_id": answer.answer_id, "refused": answer.refused, "answer": answer.answer},
    }
    return _data(last) + (_data(base | {"choices": [], "usage": usage(answer)}) if include_usage else "")


def _choice(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}


def _address(citation: Citation, base_url: str) -> str:
    if citation.uri.startswith(("http://", "https://")):
        return citation.uri
    page = f"#page={citation.page}" if citation.page else ""
    return f"{base_url}api/v1/documents/{citation.document_id}/file{page}"


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n"
