"""Fixtures that every test may use: a temporary Folio, the real embedder, and one real engine for the whole run."""

import functools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import pytest

from folio.catalog import Catalog
from folio.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a Folio whose state lives in a temporary folder; models come from the machine's cache."""
    return load_settings(data_dir=tmp_path / "data")


@pytest.fixture
def catalog(settings: Settings) -> Iterator[Catalog]:
    """An empty catalog, migrated."""
    opened = Catalog(settings.catalog_url)
    opened.migrate()
    yield opened
    opened.dispose()


@pytest.fixture(scope="session")
def embedder():
    """The real starter embedder."""
    from folio.services import build_embedder

    real = build_embedder(load_settings())
    real.load()
    return real


@pytest.fixture(scope="session")
def engine_url() -> Iterator[str]:
    """A real vLLM server with the starter model, started once for the run (or FOLIO_TEST_ENGINE_URL, if set)."""
    running = os.environ.get("FOLIO_TEST_ENGINE_URL")
    if running:
        yield running
        return
    from generation.vllm_server import server_command, stop_group, wait_until_ready

    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder))
        command = server_command(settings)
        log = Path(folder) / "engine.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command.arguments, env=command.environment, stdout=output, stderr=output, start_new_session=True
            )
            try:
                wait_until_ready(command.url, process.poll, settings.engine_start_timeout_s, log)
                yield command.url
            finally:
                stop_group(process)


ROOT = Path(__file__).resolve().parents[1]


def free_port() -> int:
    """A port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running_folio(folder: Path, *arguments: str, **environment: str) -> Iterator[str]:
    """A real `folio serve` with its state in `folder`; gives its address once the page is up."""
    port = free_port()
    variables = {**os.environ, "FOLIO_DATA_DIR": str(folder), "FOLIO_PORT": str(port), **environment}
    log = folder / "serve.log"
    folder.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "folio", "serve", *arguments], cwd=ROOT, env=variables, stdout=output, stderr=output
        )
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until(lambda: answers(f"{address}/healthz"), process, log)
            yield address
        finally:
            process.terminate()
            process.wait(120)


def answers(url: str) -> bool:
    """Whether a GET of `url` gives 200 now."""
    try:
        return httpx.get(url, timeout=5).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def wait_until(
    condition: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path, timeout_s: float = 300
) -> None:
    """Poll `condition`; fail with the end of the log when the process ends or the time is over."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        over = time.monotonic() > deadline or process.poll() is not None
        assert not over, log.read_text(encoding="utf-8", errors="replace")[-3000:]
        time.sleep(0.2)


@pytest.fixture(scope="session")
def live_server(engine_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a whole Folio (web, worker, real engine) with the sample documents in its default collection."""
    folder = tmp_path_factory.mktemp("live")
    with running_folio(folder, "--ingest", "data/en", "--ingest", "data/zh", FOLIO_ENGINE_URL=engine_url) as address:
        deadline = time.monotonic() + 300
        while not (answers(f"{address}/readyz") and _samples_are_in(address)):
            assert time.monotonic() < deadline, (folder / "serve.log").read_text(encoding="utf-8")[-3000:]
            time.sleep(0.3)
        yield address


def _samples_are_in(address: str) -> bool:
    jobs = httpx.get(f"{address}/api/v1/jobs", timeout=10).json()["items"]
    return bool(jobs) and jobs[-1]["state"] == "done"


@pytest.fixture
def start_folio(tmp_path: Path) -> Callable[..., AbstractContextManager[str]]:
    """Starts a real `folio serve`, its state in `tmp_path / "folio"`, for as long as a with-block runs."""
    return functools.partial(running_folio, tmp_path / "folio")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny embedding model: random weights, 32 dimensions, 64 tokens, prompts as E5 models have them."""
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import AutoTokenizer, BertConfig, BertModel

    from folio.models.resolve import resolve_embedder

    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = AutoTokenizer.from_pretrained(str(resolve_embedder(load_settings())))
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    transformer = models.Transformer(str(folder / "bert"), max_seq_length=64)
    model = SentenceTransformer(
        modules=[transformer, models.Pooling(32), models.Normalize()],
        prompts={"query": "query: ", "passage": "passage: "},
        device="cpu",
    )
    model.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"
