"""A relay before a real engine that writes into each token when it came off the engine, and an answerer over it.

The text of every token becomes `<number> <monotonic seconds>`, by a clock that all processes of a machine share. So who
reads a stream, the engine's own or Folio's, can tell how old each token is and whether one is missing.
"""

import json
import multiprocessing
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

QUESTION = "Count from 1 to 500, every number in words."
IDLE_S = 600.0


class Relay(BaseHTTPRequestHandler):
    """Passes everything to the engine; stamps the tokens of streams. One connection a request."""

    engine: httpx.Client

    def do_GET(self) -> None:
        self._pass_on(b"")

    def do_POST(self) -> None:
        self._pass_on(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _pass_on(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json"} if body else {}
        with self.engine.stream(self.command, self.path, content=body, headers=headers) as reply:
            self.send_response(reply.status_code)
            self.send_header("Content-Type", reply.headers.get("Content-Type", "application/json"))
            self.end_headers()
            if "event-stream" not in reply.headers.get("Content-Type", ""):
                self.wfile.write(reply.read())
                return
            number = 0
            for line in reply.iter_lines():
                stamped, number = stamp(line, number)
                self.wfile.write(f"{stamped}\n".encode())

    def log_message(self, *_: object) -> None:
        """Nothing: the figures are elsewhere."""


def stamp(line: str, number: int) -> tuple[str, int]:
    """A line of the stream with its token's text replaced, and the next token's number."""
    if not line.startswith("data: {"):
        return line, number
    chunk = json.loads(line[6:])
    choices = chunk.get("choices") or [{}]
    if not choices[0].get("delta", {}).get("content"):
        return line, number
    choices[0]["delta"]["content"] = f"{number} {time.monotonic():.6f} "
    return f"data: {json.dumps(chunk)}", number + 1


def run_relay(port: int, engine_url: str) -> None:
    """Relay until killed."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
    Relay.engine = httpx.Client(base_url=engine_url, timeout=IDLE_S, limits=limits)
    ThreadingHTTPServer.request_queue_size = 256
    ThreadingHTTPServer(("127.0.0.1", port), Relay).serve_forever()


@contextmanager
def relay(engine_url: str) -> Iterator[str]:
    """A relay in a process of its own; yields its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(target=run_relay, args=(port, engine_url))
    process.start()
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until_up(f"{address}/v1/models")
        yield address
    finally:
        process.terminate()
        process.join(10)


def wait_until_up(url: str) -> None:
    """Return as soon as the server answers at an address of its own."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            httpx.get(url)
            return
        except httpx.TransportError:
            time.sleep(0.05)
    raise SystemExit("the server did not start")


class EngineAnswerer:
    """An answerer whose question is the number of tokens to write; Folio's engine client draws them from the relay."""

    def __init__(self, relay_url: str) -> None:
        from generation.pool import VllmEngine

        self._engine = VllmEngine([relay_url], idle_timeout_s=IDLE_S)

    def stream(self, request) -> Iterator:
        from generation.answer import Answer, Sampling, Timing, Usage
        from generation.engine import GenerationRequest, Message
        from generation.events import Done, PassagesFound, Token

        yield PassagesFound((), 0.0)
        asked = GenerationRequest((Message("user", QUESTION),), Sampling(), int(request.question))
        count = 0
        for token in self._engine.stream_chat(asked):
            if token.text:
                count += 1
                yield Token(token.text)
        blank = {"question": "", "collection": "default", "language": "en", "answer": "", "refused": False}
        usage = Usage(completion_tokens=count)
        yield Done(Answer(answer_id="a", citations=[], sentences=[], usage=usage, timing=Timing(), model="m", **blank))
