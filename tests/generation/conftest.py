"""Passages in one line, and a server that speaks as vLLM does."""

import hashlib
import importlib.util
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Document, IndexChange
from folio.settings import Settings
from generation.answering import Answerer
from retrieval.collections import Collections
from retrieval.search import Searcher

LARKMOOR = "The Larkmoor Observatory was founded in 1874 by Edmund Hale. Its mirror measures 91 centimetres."

_spec = importlib.util.spec_from_file_location("generation_test_passages", Path(__file__).with_name("passages.py"))
_module = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _module
_spec.loader.exec_module(_module)


@pytest.fixture
def passage():
    """Makes a numbered passage of a text."""
    return _module.passage


class FakeVllmServer:
    """Speaks vLLM's HTTP as far as Folio uses it. `fault` makes it a faulty one: `no_start` (500 to every chat),
    `full` (429), `key` (401 to everything), `dies` (breaks the connection after its first token)."""

    def __init__(self, fault: str = "") -> None:
        self.fault, self.running, self.waiting = fault, 0, 0
        self.chats: list[dict] = []
        self.headers: list[dict] = []
        self.pieces: list[dict] = [{"content": "Hello"}, {"content": " there."}]
        self.usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        self.timings = {"queue_time_ms": 250.0}
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(fake.page(self.path).encode())

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path == "/tokenize":
                    return self.answer(b'{"count": 7}')
                fake.chats.append(body)
                fake.headers.append(dict(self.headers))
                if fake.fault in ("no_start", "full"):
                    return self.answer(b"{}", 500 if fake.fault == "no_start" else 429)
                frames = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in fake.stream())
                self.answer(frames + fake.end(), missing=99 * (fake.fault == "dies"))
                return None

            def answer(self, body: bytes, status: int = 200, missing: int = 0) -> None:
                self.send_response(401 if fake.fault == "key" else status)
                self.send_header("content-length", str(len(body) + missing))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def page(self, path: str) -> str:
        if path == "/v1/models":
            return '{"data": [{"id": "fake-vllm", "max_model_len": 2048}]}'
        if path == "/metrics":
            return f"vllm:num_requests_running {self.running}\nvllm:num_requests_waiting {self.waiting}\n"
        return ""

    def stream(self) -> Iterator[dict]:
        base = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "fake-vllm"}
        for delta in self.pieces[: 1 if self.fault == "dies" else None]:
            yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        if self.fault != "dies":
            yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
            yield {**base, "choices": [], "usage": self.usage, "metrics": self.timings}

    def end(self) -> bytes:
        return b"" if self.fault == "dies" else b"data: [DONE]\n\n"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def fake_vllm():
    """Makes fake vLLM servers."""
    made: list[FakeVllmServer] = []

    def make(fault: str = "") -> FakeVllmServer:
        made.append(FakeVllmServer(fault))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def answerer_over(catalog: Catalog, settings: Settings, embedder):
    """Makes an answerer over one document with the given engine."""
    info = Collections(catalog, embedder).get_or_create("default")
    vector = np.asarray(embedder.embed_documents([LARKMOOR])[0], "<f2").tobytes()
    with catalog.write() as session:
        document = Document(
            collection_id=info.id,
            uri="larkmoor.txt",
            title="Larkmoor",
            media_type="text/plain",
            size_bytes=len(LARKMOOR),
            sha256=hashlib.sha256(LARKMOOR.encode()).hexdigest(),
            text=LARKMOOR,
            language="en",
        )
        session.add(document)
        session.flush()
        session.add(
            Chunk(
                collection_id=info.id,
                document_id=document.id,
                ordinal=0,
                start=0,
                end=len(LARKMOOR),
                text=LARKMOOR,
                token_count=20,
                embedded_sha256="",
                vector=vector,
            )
        )
        session.add(IndexChange(collection_id=info.id, document_id=document.id, kind="upsert"))
    opened: list[Searcher] = []

    def make(engine, **changes: object) -> Answerer:
        opened.append(Searcher(catalog, embedder, settings))
        return Answerer(catalog, opened[-1], engine, settings.model_copy(update=changes))

    yield make
    for searcher in opened:
        searcher.close()
