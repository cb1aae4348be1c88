"""A Folio for benchmarks: the sample documents in a temporary data folder, served over HTTP, on a real engine.

Uses FOLIO_ENGINE_URL or the engine of a running `folio serve`; otherwise starts one for as long as the benchmark runs.
A salt in each request decides which of them share the engine's prefix cache: with a new one, nothing is cached.
"""

import itertools
import json
import logging
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from werkzeug.serving import make_server

from folio.log import configure_logging
from folio.services import Services, build_services
from folio.settings import load_settings
from generation.engine import EngineToken, GenerationRequest
from generation.pool import VllmEngine
from generation.prompt import Prompt, Window, assemble, keep_places

ROOT = Path(__file__).resolve().parents[1]
_salts = itertools.count()


class SaltedEngine(VllmEngine):
    """The real engine; all that Folio asks of it carries `salt`."""

    salt = ""

    def stream_chat(self, request: GenerationRequest) -> Iterator[EngineToken]:
        """Generate, with the salt."""
        return super().stream_chat(replace(request, cache_salt=self.salt))


@dataclass(frozen=True)
class SampleFolio:
    """A served Folio: its address, its engine's address, and its parts."""

    url: str
    engine_url: str
    services: Services
    engine: SaltedEngine


def new_salt() -> str:
    """One that no request has had."""
    return f"{time.time_ns()}-{next(_salts)}"


@contextmanager
def sample_folio() -> Iterator[SampleFolio]:
    """A Folio that has the sample documents and answers."""
    from generation.answering import Answerer
    from generation.vllm_server import borrowed_engine
    from ingest.worker import Worker
    from web.app import create_app

    configure_logging(load_settings(log_level="WARNING"))
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    with (
        borrowed_engine(load_settings(), announce=say) as engine_url,
        tempfile.TemporaryDirectory(prefix="folio-bench-") as folder,
    ):
        built = build_services(load_settings(data_dir=Path(folder), engine_url=engine_url))
        engine = SaltedEngine(engine_url.split(","), api_key=built.settings.engine_api_key.get_secret_value())
        answerer = Answerer(built.catalog, built.searcher, engine, built.settings)
        services = replace(built, engine=engine, answerer=answerer)
        say("ingesting the sample documents")
        job = services.ingestion.submit_paths("default", [str(ROOT / "data/en"), str(ROOT / "data/zh")])
        worker = Worker(services.catalog, services.embedder, services.generations, services.settings)
        worker.run(threading.Event(), finished=lambda: services.ingestion.job(job.id).is_finished)
        files = services.ingestion.job(job.id).files
        if files.done < files.total:
            raise SystemExit(f"Only {files.done} of {files.total} sample documents could be ingested.")
        services.searcher.warm()
        server = make_server("127.0.0.1", 0, create_app(services), threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield SampleFolio(f"http://127.0.0.1:{server.port}", engine_url.split(",")[0], services, engine)
        finally:
            server.shutdown()
            services.close()


def sample_questions(language: str | None = None) -> list[str]:
    """The answerable sample questions."""
    rows = [json.loads(line) for line in (ROOT / "data/questions.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row["question"] for row in rows if row["answerable"] and language in (None, row["lang"])]


@dataclass(frozen=True)
class Measured:
    """One streamed answer as its client saw it; `done` is Folio's final object, or the bare engine's usage alone."""

    ttft_ms: float
    total_ms: float
    done: dict


def ask_folio(folio: SampleFolio, question: str, **more: object) -> Measured:
    """Ask over HTTP and stream the answer."""
    body = {"question": question, "stream": True, **more}
    began, first, name, done = time.perf_counter(), 0.0, "", {}
    with httpx.stream("POST", f"{folio.url}/api/v1/ask", json=body, timeout=600) as reply:
        for line in reply.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                if name == "token" and not first:
                    first = time.perf_counter()
                if name == "error":
                    raise SystemExit(f"Folio failed: {line}")
                if name == "done":
                    done = json.loads(line.removeprefix("data: "))
    ended = time.perf_counter()
    return Measured(((first or ended) - began) * 1000, (ended - began) * 1000, done)


def prompt_for(folio: SampleFolio, question: str, **more: Any) -> Prompt:
    """The prompt that Folio makes of a first question, without asking the engine to answer it."""
    parts, settings = folio.services, folio.services.settings
    found = parts.searcher.search(question, collection="default", top_k=more.get("top_k"))
    window = Window(folio.engine.context_length(), settings.answer_tokens, settings.prompt_margin_tokens)
    return assemble(question, keep_places(found.passages, ()), (), window, folio.engine.count_messages, question)


def prompt_of(folio: SampleFolio, answer_id: str) -> list[dict]:
    """The messages that an answer was made from, from its receipt."""
    receipt = httpx.get(f"{folio.url}/api/v1/answers/{answer_id}", timeout=30).json()
    return receipt.get("receipt", receipt)["prompt"]


def ask_engine(folio: SampleFolio, prompt: Prompt, salt: str, max_tokens: int | None = None) -> Measured:
    """Send a prompt straight to the engine and stream the reply."""
    body = {
        "messages": messages_of(prompt),
        "max_tokens": max_tokens or prompt.max_tokens,
        "temperature": 0,
        "cache_salt": salt,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    began, first, usage = time.perf_counter(), 0.0, {}
    with httpx.stream("POST", f"{folio.engine_url}/v1/chat/completions", json=body, timeout=600) as reply:
        for line in reply.iter_lines():
            if not line.startswith("data: {"):
                continue
            chunk = json.loads(line.removeprefix("data: "))
            usage = chunk.get("usage") or usage
            if not first and chunk["choices"] and chunk["choices"][0]["delta"].get("content"):
                first = time.perf_counter()
    ended = time.perf_counter()
    return Measured(((first or ended) - began) * 1000, (ended - began) * 1000, {"usage": usage})


def messages_of(prompt: Prompt) -> list[dict]:
    """A prompt's messages as they travel."""
    return [asdict(message) for message in prompt.messages]


def say(text: str) -> None:
    """Tell what is going on, on stderr; stdout ends with the result."""
    print(f"# {text}", file=sys.stderr, flush=True)
