"""What `POST /api/v1/ask` promises: the contract of the reply, of the events, and of everything that can go wrong."""

import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from folio import tracing
from folio.errors import EngineFailed, EngineNotReady, FolioError
from folio.keys import KeyStore
from generation.answer import AskRequest
from generation.events import Event, Failed, PassagesFound, Token

QUESTION = {"question": "What does PagedAttention reduce?"}


def events_of(body: bytes) -> list[dict]:
    """The frames of an event stream; comments and `retry` are left out."""
    found = []
    for block in body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in fields:
            found.append({"id": fields["id"], "name": fields["event"], "data": json.loads(fields["data"])})
    return found


def test_the_whole_answer_comes_as_json(client):
    reply = client.post("/api/v1/ask", json=QUESTION)
    assert reply.status_code == 200
    assert reply.json["citations"][0]["quote"] == "PagedAttention"
    assert {"answer_id", "answer", "refused", "sentences", "usage", "timing", "model"} <= reply.json.keys()


def test_a_stream_ends_with_the_same_object_as_the_plain_reply(client):
    plain = client.post("/api/v1/ask", json=QUESTION).json
    reply = client.post("/api/v1/ask", json={**QUESTION, "stream": True})
    events = events_of(reply.data)
    assert [e["name"] for e in events] == ["passages", *["token"] * 5, "sentence", "done"]
    assert events[-1]["data"] == plain
    assert "".join(e["data"]["text"] for e in events if e["name"] == "token") == plain["answer"]


def test_a_stream_tells_proxies_not_to_hold_it_back(client):
    reply = client.post("/api/v1/ask", json={**QUESTION, "stream": True})
    assert reply.headers["X-Accel-Buffering"] == "no"
    assert "no-transform" in reply.headers["Cache-Control"]
    assert reply.mimetype == "text/event-stream"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_belongs_to_the_trace_of_whoever_asked(client, answerer, spans, stream):
    def traced(request: AskRequest) -> Iterator[Event]:
        with tracing.span("answer"):
            yield from the_events(request)

    the_events, answerer.events = answerer.events, traced
    asked = {"json": {**QUESTION, "stream": stream}}
    client.post("/api/v1/ask", headers={"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"}, **asked).get_data()
    client.post("/api/v1/ask", headers={"traceparent": "none"}, **asked).get_data()
    client.post("/api/v1/ask", **asked).get_data()
    followed, *others = spans
    assert (followed.context.trace_id, followed.parent.span_id) == (int("ab" * 16, 16), int("cd" * 8, 16))
    assert [span.parent for span in others] == [None, None]


def test_thinking_is_streamed_only_when_asked_for(client):
    hidden = events_of(client.post("/api/v1/ask", json={**QUESTION, "stream": True}).data)
    shown = events_of(client.post("/api/v1/ask", json={**QUESTION, "stream": True, "thinking": "show"}).data)
    assert "thinking" not in [e["name"] for e in hidden]
    assert "thinking" in [e["name"] for e in shown]


def test_a_broken_stream_goes_on_after_the_last_event_seen(client):
    events = events_of(client.post("/api/v1/ask", json={**QUESTION, "stream": True}).data)
    seen = events[2]["id"]
    again = client.post("/api/v1/ask", json={**QUESTION, "stream": True}, headers={"Last-Event-ID": seen})
    assert events_of(again.data) == events[3:]
    followed = client.get(f"/api/v1/ask/{seen.split('.')[0]}", headers={"Last-Event-ID": seen})
    assert events_of(followed.data) == events[3:]


def test_a_stream_that_is_not_kept_here_says_to_ask_again(client):
    for reply in (
        client.get("/api/v1/ask/nope"),
        client.delete("/api/v1/ask/nope"),
        client.post("/api/v1/ask", json=QUESTION, headers={"Last-Event-ID": "nope.3"}),
    ):
        body = reply.get_json(force=True)
        assert (reply.status_code, body["code"]) == (410, "stream_gone")
        assert "Ask the question again" in body["detail"]


def test_somebody_else_s_stream_is_told_like_one_that_never_was(client, services):
    one, two = (KeyStore(services.catalog).create(name, ["ask"]).key for name in ("one", "two"))
    mine = client.post("/api/v1/ask", json={**QUESTION, "stream": True}, headers={"Authorization": f"Bearer {one}"})
    replies = [
        client.get(f"/api/v1/ask/{stream}", headers={"Authorization": f"Bearer {two}"}).get_json(force=True)
        for stream in (mine.headers["Folio-Stream"], "0" * 32)
    ]
    assert {(reply["status"], reply["detail"]) for reply in replies} == {(410, replies[0]["detail"])}


def test_a_silent_engine_is_bridged_by_heartbeats(client, answerer, monkeypatch):
    monkeypatch.setattr("web.streams.HEARTBEAT_S", 0.02)

    def slow(request) -> Iterator:
        yield PassagesFound((), 0.0)
        time.sleep(0.2)
        yield Failed(FolioError("enough"))

    answerer.events = slow
    body = client.post("/api/v1/ask", json={**QUESTION, "stream": True}).data
    assert body.count(b": keep-alive") >= 3


def test_a_failure_before_the_first_event_is_a_status(client, answerer):
    def not_ready(request) -> Iterator:
        yield Failed(EngineNotReady("Loading.", retry_after_s=7))

    answerer.events = not_ready
    reply = client.post("/api/v1/ask", json={**QUESTION, "stream": True})
    assert (reply.status_code, reply.json["code"], reply.headers["Retry-After"]) == (503, "engine_not_ready", "7")


def test_a_failure_on_the_way_is_an_error_event_with_a_problem(client, answerer):
    def dies(request) -> Iterator:
        yield PassagesFound((), 0.0)
        yield Token("Paged")
        yield Failed(EngineFailed("The engine stopped."))

    answerer.events = dies
    reply = client.post("/api/v1/ask", json={**QUESTION, "stream": True})
    last = events_of(reply.data)[-1]
    assert (last["name"], last["data"]["code"], last["data"]["status"]) == ("error", "engine_failed", 503)
    assert last["data"]["request_id"] == reply.headers["X-Request-Id"]


def test_a_stream_that_breaks_inside_never_leaves_its_reader_waiting(client, answerer):
    def breaks(request) -> Iterator:
        yield PassagesFound((), 0.0)
        raise RuntimeError("secret detail")

    answerer.events = breaks
    body = client.post("/api/v1/ask", json={**QUESTION, "stream": True}).data
    assert events_of(body)[-1]["data"]["code"] == "internal"
    assert b"secret" not in body


def endless(closed: threading.Event) -> Iterator:
    """An answer that only ends when it is closed."""
    try:
        yield PassagesFound((), 0.0)
        while True:
            time.sleep(0.005)
            yield Token("a ")
    finally:
        closed.set()


@pytest.mark.parametrize("way", ["leave", "stop"])
def test_a_reader_who_leaves_or_stops_ends_the_generation(client_with, answerer, way):
    closed = threading.Event()
    answerer.events = lambda request: endless(closed)
    client = client_with(stream_grace_s=0.05)
    reply = client.post("/api/v1/ask", json={**QUESTION, "stream": True}, buffered=False)
    reader = iter(reply.response)
    for _ in range(3):
        next(reader)
    if way == "leave":
        reply.close()
    else:
        assert client.delete(f"/api/v1/ask/{reply.headers['Folio-Stream']}").status_code == 204
    assert closed.wait(3)


@pytest.mark.parametrize("path", ["/api/v1/ask", "/v1/chat/completions"])
def test_a_client_that_hangs_up_before_its_plain_reply_ends_the_generation(client, answerer, path):
    closed = threading.Event()
    answerer.events = lambda request: endless(closed)
    here, there = socket.socketpair()
    body = (
        {**QUESTION}
        if path.startswith("/api")
        else {"model": "default", "messages": [{"role": "user", "content": "a"}]}
    )
    threading.Timer(0.2, there.close).start()
    with here:
        client.post(path, json=body, environ_overrides={"gunicorn.socket": here})
    assert closed.wait(3)


def test_a_client_that_waits_gets_its_plain_reply(client):
    here, there = socket.socketpair()
    with here, there:
        there.send(b"the next request")
        assert client.post("/api/v1/ask", json=QUESTION, environ_overrides={"gunicorn.socket": here}).status_code == 200
        assert here.recv(100) == b"the next request"


class Waiting:
    """An answer that waits for the engine, and can be closed from any thread, as the real one."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> PassagesFound:
        self.closed.wait(20)
        raise StopIteration

    def close(self) -> None:
        self.closed.set()


def test_a_reader_who_leaves_while_the_engine_is_silent_ends_the_generation(client_with, answerer, monkeypatch):
    monkeypatch.setattr("web.streams.FIRST_EVENT_S", 0.05)
    waiting = Waiting()
    answerer.events = lambda request: waiting
    reply = client_with(stream_grace_s=0.05).post("/api/v1/ask", json={**QUESTION, "stream": True}, buffered=False)
    assert reply.status_code == 200
    reply.close()
    assert waiting.closed.wait(3)


def test_a_reader_who_comes_back_in_time_keeps_the_generation(client_with, answerer):
    closed = threading.Event()
    answerer.events = lambda request: endless(closed)
    client = client_with(stream_grace_s=1.0)
    reply = client.post("/api/v1/ask", json={**QUESTION, "stream": True}, buffered=False)
    next(iter(reply.response))
    stream_id = reply.headers["Folio-Stream"]
    reply.close()
    again = client.get(f"/api/v1/ask/{stream_id}", buffered=False)
    next(iter(again.response))
    assert not closed.wait(1.3)
    again.close()
    assert closed.wait(5)


def test_more_answers_than_permits_are_turned_away_at_once_and_permits_come_back(client_with, answerer):
    closed = threading.Event()
    answerer.events = lambda request: endless(closed)
    client = client_with(max_answers=1, stream_grace_s=0.05)
    first = client.post("/api/v1/ask", json={**QUESTION, "stream": True}, buffered=False)
    refused = client.post("/api/v1/ask", json=QUESTION)
    assert (refused.status_code, refused.json["code"]) == (429, "too_many_requests")
    assert "Retry-After" in refused.headers
    client.delete(f"/api/v1/ask/{first.headers['Folio-Stream']}")
    first.close()
    assert closed.wait(3)
    time.sleep(0.05)
    answerer.events = type(answerer)().events
    assert client.post("/api/v1/ask", json=QUESTION).status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"question": "  "}, "empty_question"),
        ({}, "invalid_request"),
        ({"question": "a", "colection": "typo"}, "invalid_request"),
        ({"question": "a", "top_k": 0}, "invalid_request"),
        ({"question": "a", "sampling": {"temperature": 9}}, "invalid_request"),
        ({"question": "a\x00b"}, "invalid_request"),
        ({"question": "\ud800"}, "invalid_request"),
        ({"question": "x" * 100_000}, "question_too_long"),
        ({"question": "a", "filters": {"nope": 1}}, "invalid_request"),
        ({"question": 3}, "invalid_request"),
    ],
)
def test_an_invalid_question_is_a_problem_that_names_what_is_wrong(client, answerer, body, code):
    answerer.events = lambda request: iter([Failed(EngineNotReady("Loading."))])  # what is wrong is told first
    reply = client.post("/api/v1/ask", json=body)
    assert (reply.status_code, reply.json["code"]) == (400, code)


def test_the_question_reaches_the_answerer_as_asked(client, answerer):
    client.post(
        "/api/v1/ask",
        json={
            **QUESTION,
            "top_k": 3,
            "filters": {"tags": ["a"], "modified_after": "2026-01-01T00:00:00"},
            "sampling": {"temperature": 0.5, "seed": 7},
        },
    )
    asked = answerer.asked[-1]
    assert (asked.top_k, asked.filters.tags, asked.sampling.seed) == (3, ("a",), 7)
    assert asked.filters.modified_after.tzinfo is not None
