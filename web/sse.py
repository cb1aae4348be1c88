"""Server-sent events: an answer's events as text frames that pass proxies unbuffered.

Each frame's id is `<stream id>.<number>`; a client sends it back as `Last-Event-ID` to go on after a broken connection.
"""

import json
from collections.abc import Iterator

from flask import Response, g

from generation.events import Done, Event, Failed, PassagesFound, SentenceChecked, Thinking, Token
from web.errors import problem_of
from web.streams import AnswerStream

RETRY_MS = 1000
HEARTBEAT = ": keep-alive\n\n"


def event_stream(stream: AnswerStream, after: int = 0) -> Response:
    """The reply that follows a stream from the event after number `after`."""
    return sse_response(stream, _frames(stream, after, g.request_id))


def sse_response(stream: AnswerStream, frames: Iterator[str]) -> Response:
    """A reply of frames made from a stream, with the headers that keep proxies from holding them back."""
    stream.attach()
    response = Response(frames, mimetype="text/event-stream")
    response.call_on_close(stream.detach)
    response.headers["Cache-Control"] = "no-cache, no-transform"
    response.headers["X-Accel-Buffering"] = "no"
    response.headers["Folio-Stream"] = stream.id
    return response


def frame(name: str, data: object, event_id: str = "") -> str:
    """One event as text."""
    id_line = f"id: {event_id}\n" if event_id else ""
    body = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"{id_line}event: {name}\ndata: {body}\n\n"


def position(last_event_id: str) -> tuple[str, int]:
    """Stream id and event number of a `Last-Event-ID`; a number that is none counts as 0, the beginning."""
    stream_id, _, number = last_event_id.partition(".")
    return stream_id, int(number) if number.isascii() and number.isdigit() else 0


def _frames(stream: AnswerStream, after: int, request_id: str) -> Iterator[str]:
    yield f"retry: {RETRY_MS}\n\n"
    for batch in stream.follow(after):
        yield "".join(_event_frame(event, f"{stream.id}.{n}", request_id) for n, event in batch) or HEARTBEAT


def _event_frame(event: Event, event_id: str, request_id: str) -> str:
    match event:
        case Token(text):
            return frame("token", {"text": text}, event_id)
        case PassagesFound(passages, retrieval_ms):
            found = {"passages": [p.model_dump(mode="json") for p in passages], "retrieval_ms": retrieval_ms}
            return frame("passages", found, event_id)
        case Thinking(text):
            return frame("thinking", {"text": text}, event_id)
        case SentenceChecked(sentence):
            return frame("sentence", sentence.model_dump_json(), event_id)
        case Done(answer):
            return frame("done", answer.model_dump_json(), event_id)
        case Failed(error):
            return frame("error", problem_of(error, request_id).model_dump_json(exclude_none=True), event_id)
