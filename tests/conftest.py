"""Fixtures that every test may use: a temporary Folio, the real embedder, one real engine for the whole run, and a
scripted one."""

import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import hypothesis
import pytest
import sqlalchemy

from folio.catalog import Catalog
from folio.settings import Settings, load_settings
from generation.engine import EngineHealth, EngineToken, EngineUsage, GenerationRequest, Message

hypothesis.settings.register_profile("folio", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("folio")


class FakeScriptedEngine:
    """Writes the same pieces for every request; a token is four characters."""

    def __init__(self, *pieces: EngineToken | str, context: int = 4096, finish_reason: str = "stop") -> None:
        self.finish_reason = finish_reason
        self.pieces = pieces
        self.context = context
        self.requests: list[GenerationRequest] = []
        self.closed = 0
        self.waiting = 0
        self.ready = True
        self.usage = EngineUsage(100, 64, 10)

    def health(self) -> EngineHealth:
        state = "ready" if self.ready else "starting"
        return EngineHealth(self.ready, state, "", "fake", self.context, 0, self.waiting, 0.0)

    def context_length(self) -> int:
        return self.context

    def model_name(self) -> str:
        return "fake-scripted-engine"

    def count_messages(self, messages: Sequence[Message]) -> int:
        return sum(self.count_text(m.content) + 4 for m in messages)

    def count_text(self, text: str) -> int:
        return (len(text) + 3) // 4

    def stream_chat(self, request: GenerationRequest) -> Iterator[EngineToken]:
        self.requests.append(request)
        try:
            for piece in self.pieces:
                yield EngineToken(piece) if isinstance(piece, str) else piece
            yield EngineToken(finish_reason=self.finish_reason, usage=self.usage)
        finally:
            self.closed += 1


@pytest.fixture
def scripted():
    """Makes an engine that follows a script."""
    return FakeScriptedEngine


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a Folio whose state lives in a temporary folder; models come from the machine's cache."""
    return load_settings(data_dir=tmp_path / "data")


@pytest.fixture(scope="session")
def empty_catalog(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Catalog]:
    """Makes an empty, migrated catalog at a URL. SQLite's is migrated once for the run and then copied."""
    model = Catalog(f"sqlite:///{tmp_path_factory.mktemp('catalog') / 'model.sqlite'}")
    model.migrate()
    model.dispose()

    def make(url: str) -> Catalog:
        catalog = Catalog(url)
        if catalog.is_sqlite:
            shutil.copyfile(str(model.engine.url.database), str(catalog.engine.url.database))
        else:
            catalog.migrate()
        return catalog

    return make


@pytest.fixture
def catalog(settings: Settings, empty_catalog: Callable[[str], Catalog]) -> Iterator[Catalog]:
    """An empty catalog, migrated."""
    opened = empty_catalog(settings.catalog_url)
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


@contextmanager
def running_server(command: Sequence[str], port: int, log: Path) -> Iterator[None]:
    """A server process that listens on a port of loopback, for as long as the block runs."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            wait_until(lambda: _listens(port), process, log, 60)
            yield
        finally:
            process.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown; Redis ends as well
            process.wait(60)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Redis server of the tests' own."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (Debian: apt install redis-server)")
    folder, port = tmp_path_factory.mktemp("redis"), free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with running_server(command, port, folder / "redis.log"):
        yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL server of the tests' own, in a temporary folder; the URL of its first database."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    programs, as_user = found[-1].parent, []
    with tempfile.TemporaryDirectory(prefix="folio-postgres-") as name:
        if os.getuid() == 0:  # which PostgreSQL refuses to run as
            as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=INT"]
            shutil.chown(name, "postgres", "postgres")
        data, port = f"{name}/data", free_port()
        made = [*as_user, str(programs / "initdb"), "-D", data, "-U", "folio", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run([*made, "--locale=C.UTF-8"], check=True, capture_output=True, cwd="/")
        options = {"listen_addresses": "127.0.0.1", "fsync": "off", "unix_socket_directories": name}
        command = [*as_user, str(programs / "postgres"), "-D", data, "-p", str(port)]
        command += [f"--{key}={value}" for key, value in options.items()]
        with running_server(command, port, Path(name) / "postgres.log"):
            yield f"postgresql+psycopg://folio@127.0.0.1:{port}/postgres"


@pytest.fixture
def database_url(postgres_url: str) -> str:
    """An empty database of its own on the real PostgreSQL."""
    name = f"folio_{uuid.uuid4().hex}"
    server = sqlalchemy.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    server.dispose()
    return postgres_url.removesuffix("postgres") + name


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


@pytest.fixture
def spans() -> Iterator[list]:
    """The spans that ended, while tracing is on."""
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

    from folio import tracing

    ended: list[ReadableSpan] = []

    class Keeping(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            ended.append(span)

    tracing.trace_with(Keeping())
    yield ended
    tracing.trace_no_more()
