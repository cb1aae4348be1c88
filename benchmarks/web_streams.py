"""Many open answers at once: what the web server adds to each token, and whether any is lost or out of order.

Starts Folio's own server and application; only the answerer is a metronome, whose tokens carry the time at which they
were made, so that what is measured is the web part alone. Meanwhile idle connections are held open.

With `--engine-url` the tokens are a real vLLM's: the same clients read the engine's own streams, then Folio's, and
what counts is how much older a token is when it comes through Folio.

    python benchmarks/web_streams.py [--quick] [--streams 64] [--idle 200] [--engine-url http://127.0.0.1:8001]
"""

import argparse
import asyncio
import itertools
import json
import multiprocessing
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import httpx
from stamped_engine import QUESTION, EngineAnswerer, relay, wait_until_up

INTERVAL_S = 0.05  # 20 tokens a second each, a brisk decode on a CPU
PROBE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Metronome:
    """An answerer whose question is the number of tokens to send."""

    def stream(self, request) -> Iterator:
        from generation.answer import Answer, Timing, Usage
        from generation.events import Done, PassagesFound, Token

        yield PassagesFound((), 0.0)
        due = time.monotonic()
        for n in range(int(request.question)):
            due += INTERVAL_S
            time.sleep(max(0.0, due - time.monotonic()))
            yield Token(f"{n} {time.monotonic():.6f}")
        blank = {"question": "", "collection": "default", "language": "en", "answer": "", "refused": False}
        yield Done(
            Answer(answer_id="a", citations=[], sentences=[], usage=Usage(), timing=Timing(), model="m", **blank)
        )


def run_server(port: int, folder: str, relay_url: str = "") -> None:
    """Serve until killed, over a metronome or over the engine behind a relay."""
    from folio.catalog import Catalog
    from folio.log import configure_logging
    from folio.settings import load_settings
    from web.app import create_app
    from web.server import serve

    settings = load_settings(port=port, data_dir=Path(folder), log_level="WARNING")
    configure_logging(settings)

    def build():
        catalog = Catalog(settings.catalog_url)
        catalog.migrate()
        answerer = EngineAnswerer(relay_url) if relay_url else Metronome()
        unwatched = SimpleNamespace(health=lambda: None)
        return create_app(SimpleNamespace(settings=settings, catalog=catalog, answerer=answerer, engine=unwatched))

    serve(build, settings)


@contextmanager
def server(relay_url: str = "") -> Iterator[int]:
    """A server in a process of its own; yields its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        process = multiprocessing.get_context("spawn").Process(target=run_server, args=(port, folder, relay_url))
        process.start()
        try:
            wait_until_up(f"http://127.0.0.1:{port}/healthz")
            yield port
        finally:
            process.terminate()
            process.join(30)


@dataclass(frozen=True)
class Door:
    """Where streams come from: Folio's door, or the engine's own."""

    url: str
    tokens: int
    model: str = ""  # of the engine; empty for Folio

    def request(self) -> tuple[str, dict]:
        """Address and body."""
        if not self.model:
            return f"{self.url}/api/v1/ask", {"question": str(self.tokens), "stream": True}
        chat = {"model": self.model, "messages": [{"role": "user", "content": QUESTION}], "temperature": 0}
        return f"{self.url}/v1/chat/completions", {**chat, "max_tokens": self.tokens, "stream": True}

    def text(self, line: str) -> str:
        """The token in a line of the stream, if it holds one."""
        if not line.startswith("data: {"):
            return ""
        data = json.loads(line[6:])
        if not self.model:
            return data.get("text", "")
        return (data.get("choices") or [{}])[0].get("delta", {}).get("content") or ""

    def count(self, line: str) -> int | None:
        """How many tokens were made, where a line tells it at the end."""
        if self.model or not line.startswith('data: {"answer_id"'):
            return None
        return json.loads(line[6:])["usage"]["completion_tokens"] or self.tokens


async def one_stream(client: httpx.AsyncClient, door: Door, delays: list[float], arrivals: list[float]) -> int:
    """Read one answer; returns how many tokens are missing or out of order."""
    url, body = door.request()
    wrong = seen = 0
    made_in_all = None
    async with client.stream("POST", url, json=body) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            made_in_all = door.count(line) if made_in_all is None else made_in_all
            text = door.text(line)
            if not text:
                continue
            arrived = time.monotonic()
            number, made = text.split()
            wrong += int(number) != seen
            seen += 1
            delays.append(arrived - float(made))
            arrivals.append(arrived)
    return wrong + (0 if door.model else abs((made_in_all or 0) - seen))


async def measure(door: Door, streams: int) -> tuple[list[float], list[float], int]:
    """All streams at once, started over half a second: delays, gaps between tokens, faults."""
    delays: list[float] = []
    arrivals: list[list[float]] = [[] for _ in range(streams)]
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=streams), timeout=900) as client:

        async def after(n: int) -> int:
            await asyncio.sleep(0.5 * n / streams)
            return await one_stream(client, door, delays, arrivals[n])

        wrong = sum(await asyncio.gather(*(after(n) for n in range(streams))))
    gaps = [b - a for times in arrivals for a, b in itertools.pairwise(times)]
    return delays, gaps, wrong


def hold_idle(port: int, count: int) -> list[socket.socket]:
    """Connections that made one request and are kept alive."""
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    for connection in held:
        connection.sendall(PROBE)
    return held if all(answered(connection) for connection in held) else []


def answered(connection: socket.socket) -> bool:
    """Whether a whole reply to the probe came."""
    connection.settimeout(10)
    got = b""
    while b'{"status":"ok"}' not in got:
        piece = connection.recv(4096)
        if not piece:
            return False
        got += piece
    return True


def against_the_engine(options: argparse.Namespace) -> dict:
    """The engine's own streams and Folio's, read by the same clients: how much older Folio's tokens are."""
    tokens = 16 if options.quick else 64
    print(
        f"{options.streams} streams of at most {tokens} tokens from {options.engine_url}, direct and through Folio ..."
    )
    with relay(options.engine_url) as relay_url, server(relay_url) as port:
        model = httpx.get(f"{relay_url}/v1/models").json()["data"][0]["id"]
        direct, direct_gaps, _ = asyncio.run(measure(Door(relay_url, tokens, model), options.streams))
        through, gaps, wrong = asyncio.run(measure(Door(f"http://127.0.0.1:{port}", tokens), options.streams))
    own, folio = (statistics.quantiles([1000 * delay for delay in delays], n=100) for delays in (direct, through))
    return {
        "benchmark": "web_streams",
        "ratio": round(statistics.median(gaps) / statistics.median(direct_gaps), 3),
        "baseline": "the engine's own streams, read by the same clients",
        "median": round(folio[49] - own[49], 3),
        "spread": [round(folio[n] - own[n], 3) for n in (4, 94)],
        "n": len(through),
        "unit": "ms added to a token",
        "p95_ms": round(folio[94] - own[94], 3),
        "engine_ms": {"p50": round(own[49], 3), "p95": round(own[94], 3)},
        "folio_ms": {"p50": round(folio[49], 3), "p95": round(folio[94], 3)},
        "gap_ms": {
            "engine": round(statistics.median(direct_gaps) * 1000),
            "folio": round(statistics.median(gaps) * 1000),
        },
        "lost_or_reordered": wrong,
    }


def main() -> None:
    """Measure and print one JSON object as the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a third of the tokens")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--idle", type=int, default=200)
    parser.add_argument("--engine-url", default="", help="measure with the tokens of this vLLM")
    options = parser.parse_args()
    if options.engine_url:
        print(json.dumps(against_the_engine(options)))
        return
    tokens = 100 if options.quick else 300
    print(f"{options.streams} streams of {tokens} tokens, {1 / INTERVAL_S:.0f} a second each; {options.idle} idle ...")
    with server() as port:
        idle = hold_idle(port, options.idle)
        delays, gaps, wrong = asyncio.run(measure(Door(f"http://127.0.0.1:{port}", tokens), options.streams))
        for connection in idle:
            connection.sendall(PROBE)
        alive = sum(answered(connection) for connection in idle)
        for connection in idle:
            connection.close()
    cuts = statistics.quantiles(delays, n=100)
    figures = {
        "benchmark": "web_streams",
        "ratio": round(statistics.quantiles(gaps, n=20)[18] / INTERVAL_S, 3),
        "baseline": "p95 gap between tokens at the client / the metronome's gap",
        "median": round(cuts[49] * 1000, 3),
        "spread": round((cuts[94] - cuts[4]) * 1000, 3),
        "n": len(delays),
        "unit": "ms added to a token",
        "p95_ms": round(cuts[94] * 1000, 3),
        "p99_ms": round(cuts[98] * 1000, 3),
        "max_ms": round(max(delays) * 1000, 3),
        "lost_or_reordered": wrong,
        "idle_alive": alive,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
