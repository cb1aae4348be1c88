"""A Folio for benchmarks: the sample documents in a temporary data folder, served over HTTP, on a real engine.

Uses FOLIO_ENGINE_URL or the engine of a running `folio serve`; otherwise starts one for as long as the benchmark runs.
"""

import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from werkzeug.serving import make_server

from folio.log import configure_logging
from folio.services import Services, build_services
from folio.settings import load_settings

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class SampleFolio:
    """A served Folio: its address, its engine's address, and its parts."""

    url: str
    engine_url: str
    services: Services


@contextmanager
def sample_folio() -> Iterator[SampleFolio]:
    """A Folio that has the sample documents and answers."""
    from generation.vllm_server import borrowed_engine
    from ingest.worker import Worker
    from web.app import create_app

    configure_logging(load_settings(log_level="WARNING"))
    with (
        borrowed_engine(load_settings(), announce=say) as engine_url,
        tempfile.TemporaryDirectory(prefix="folio-bench-") as folder,
    ):
        services = build_services(load_settings(data_dir=Path(folder), engine_url=engine_url))
        say("ingesting the sample documents")
        job = services.ingestion.submit_paths("default", [str(ROOT / "data/en"), str(ROOT / "data/zh")])
        worker = Worker(services.catalog, services.embedder, services.generations, services.settings)
        worker.run(threading.Event(), finished=lambda: services.ingestion.job(job.id).is_finished)
        services.searcher.warm()
        server = make_server("127.0.0.1", 0, create_app(services), threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield SampleFolio(f"http://127.0.0.1:{server.port}", engine_url.split(",")[0], services)
        finally:
            server.shutdown()
            services.close()


def sample_questions(language: str | None = None) -> list[str]:
    """The answerable sample questions."""
    rows = [json.loads(line) for line in (ROOT / "data/questions.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row["question"] for row in rows if row["answerable"] and language in (None, row["lang"])]


@dataclass(frozen=True)
class Measured:
    """One streamed answer as its client saw it; `done` is Folio's final object, None for the bare engine."""

    ttft_ms: float
    total_ms: float
    done: dict | None


def ask_folio(folio: SampleFolio, question: str, **more: object) -> Measured:
    """Ask over HTTP and stream the answer."""
    body = {"question": question, "stream": True, **more}
    began, first, name, done = time.perf_counter(), 0.0, "", None
    with httpx.stream("POST", f"{folio.url}/api/v1/ask", json=body, timeout=600) as reply:
        for line in reply.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                if name == "token" and not first:
                    first = time.perf_counter()
                if name == "done":
                    done = json.loads(line.removeprefix("data: "))
    ended = time.perf_counter()
    return Measured(((first or ended) - began) * 1000, (ended - began) * 1000, done)


def prompt_of(folio: SampleFolio, answer_id: str) -> list[dict]:
    """The messages that an answer was made from, from its receipt."""
    receipt = httpx.get(f"{folio.url}/api/v1/answers/{answer_id}", timeout=30).json()
    return receipt.get("receipt", receipt)["prompt"]


def ask_engine(folio: SampleFolio, messages: list[dict], max_tokens: int) -> Measured:
    """Send messages straight to the engine and stream the reply."""
    body = {"messages": messages, "max_tokens": max_tokens, "temperature": 0, "stream": True}
    began, first = time.perf_counter(), 0.0
    with httpx.stream("POST", f"{folio.engine_url}/v1/chat/completions", json=body, timeout=600) as reply:
        for line in reply.iter_lines():
            if line.startswith("data: {") and not first and '"content":""' not in line.replace(" ", ""):
                first = time.perf_counter()
    ended = time.perf_counter()
    return Measured(((first or ended) - began) * 1000, (ended - began) * 1000, None)


def uncached(messages: list[dict], number: int) -> list[dict]:
    """The same messages with a few characters changed at their very beginning, so that no prefix of them is cached."""
    first = {**messages[0], "content": f"{number:04d} {messages[0]['content']}"}
    return [first, *messages[1:]]


def say(text: str) -> None:
    """Tell what is going on, on stderr; stdout ends with the result."""
    print(f"# {text}", file=sys.stderr, flush=True)
