"""How Folio starts a vLLM server, and how its other processes find it.

`serve` watches the server for as long as Folio runs; a command that needs an engine borrows a running one, or starts
its own for a while. vLLM is a child process with an OpenAI-compatible API: nothing here imports it.
"""

import importlib.util
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from folio.errors import ConfigurationError, EngineNotReady
from folio.models.resolve import resolve_llm
from folio.settings import Settings
from generation.vllm_log import why_it_ended

NGRAM_SPECULATION = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}
# Tokens that one step of the engine reads and writes on a CPU. A step can't be broken off: with vLLM's 2048 it takes
# ten seconds there, in which nobody else gets a token and who has left is not noticed. 256 read as fast (294 tokens a
# second of CPU time, int8, one core).
CPU_STEP_TOKENS = 256
POLL_S = 0.5
STOP_TIMEOUT_S = 10


@dataclass(frozen=True)
class ServerCommand:
    """The command line and the environment that start an engine."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    port: int

    @property
    def url(self) -> str:
        """Where the engine will answer."""
        return f"http://127.0.0.1:{self.port}"


def has_gpu() -> bool:
    """Whether an NVIDIA GPU and its driver are there."""
    return shutil.which("nvidia-smi") is not None and Path("/proc/driver/nvidia/version").exists()


def server_command(settings: Settings) -> ServerCommand:
    """The vLLM server for the settings, with what measures faster on this kind of machine turned on.

    Raises:
        ConfigurationError: vLLM is not installed, or the engine's port is taken.
        ModelMissing: the language model is not on this machine.
    """
    if importlib.util.find_spec("vllm") is None:
        raise ConfigurationError("vLLM is not installed. Run `make setup`, or set FOLIO_ENGINE_URL to a server.")
    gpu = has_gpu()
    port = _engine_port(settings.engine_port)
    arguments = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server",
        "--model", str(resolve_llm(settings, int8=not gpu)),
        "--served-model-name", settings.model,
        "--host", "127.0.0.1",
        "--port", str(port),
        "--max-model-len", str(settings.max_model_len),
        "--max-num-seqs", str(settings.max_num_seqs),
        "--enable-prefix-caching",
        "--enable-chunked-prefill",
        "--enable-prompt-tokens-details",
        "--enable-per-request-metrics",
        "--speculative-config", json.dumps(NGRAM_SPECULATION),
    ]  # fmt: skip
    environment = {
        **os.environ,
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": os.environ.get("VLLM_LOGGING_LEVEL", "WARNING"),
        "TOKENIZERS_PARALLELISM": "false",
    }
    if not gpu:
        # Compilation would add a minute to each start; on a CPU it does not pay for itself.
        arguments += ["--enforce-eager", "--max-num-batched-tokens", str(CPU_STEP_TOKENS)]
        environment["VLLM_CPU_KVCACHE_SPACE"] = str(settings.kv_cache_gib)
        # Without it the first question with token probabilities compiles a function of the sampler for nine seconds.
        environment.setdefault("TORCHDYNAMO_DISABLE", "1")
    if settings.trace_endpoint:
        arguments += ["--otlp-traces-endpoint", settings.trace_endpoint]
        environment["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"
    key = settings.engine_api_key.get_secret_value()
    if key:
        environment["VLLM_API_KEY"] = key
    return ServerCommand((*arguments, *shlex.split(settings.engine_args)), environment, port)


def _engine_port(wanted: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as exc:
            raise ConfigurationError(
                f"Port {wanted} is taken, so the engine can't use it. Set FOLIO_ENGINE_PORT to a free one, or to 0."
            ) from exc
        port: int = probe.getsockname()[1]
        return port


def state_file(settings: Settings) -> Path:
    """Where a running `folio serve` says which engine it watches."""
    return settings.data_dir / "run" / "engine.json"


def known_engine_urls(settings: Settings) -> tuple[str, ...]:
    """The engines to use: those of the settings, else that of a running `folio serve`, else none."""
    if settings.engine_urls:
        return settings.engine_urls
    return tuple(url for url in _announced(settings).get("url", "").split(",") if url)


def engine_problem(settings: Settings) -> str:
    """Why the engine that `folio serve` watches is down, in a sentence; empty while nothing is known to be wrong."""
    return _announced(settings).get("problem", "")


def announce_engine(settings: Settings, url: str, problem: str = "") -> None:
    """Tell Folio's other processes where the engine of this one answers, or what keeps it from answering."""
    path = state_file(settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"url": url, "pid": os.getpid(), "problem": problem}), encoding="utf-8")
    partial.replace(path)


def _announced(settings: Settings) -> dict[str, str]:
    """What a `folio serve` that still runs last announced."""
    try:
        state = json.loads(state_file(settings).read_text(encoding="utf-8"))
        os.kill(int(state["pid"]), 0)
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {name: str(value) for name, value in state.items()}


@contextmanager
def borrowed_engine(settings: Settings, announce: Callable[[str], None]) -> Iterator[str]:
    """URLs of an engine that answers, comma-separated; one is started and stopped again where none runs.

    Raises:
        EngineNotReady: it stopped, or was not ready within `engine_start_timeout_s`.
    """
    urls = known_engine_urls(settings)
    if urls:
        yield ",".join(urls)
        return
    command = server_command(settings)
    log = settings.data_dir / "logs" / "engine.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    announce(f"No engine is running; starting one (about a minute). Its log: {log}")
    with log.open("ab") as output:
        since = output.tell()
        process = subprocess.Popen(
            command.arguments, env=command.environment, stdout=output, stderr=output, start_new_session=True
        )
        try:
            wait_until_ready(command.url, process.poll, settings.engine_start_timeout_s, log, since)
            announce("The engine is ready.")
            yield command.url
        finally:
            stop_group(process)


def wait_until_ready(url: str, poll: Callable[[], int | None], timeout_s: float, log: Path, since: int = 0) -> None:
    """Block until the engine at `url` answers. Its output in the log begins at byte `since`.

    Raises:
        EngineNotReady: `poll` says that the process ended, or the time is over.
    """
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if is_ready(url):
            return
        status = poll()
        if status is not None:
            raise EngineNotReady(why_it_ended(log, status, since))
        time.sleep(POLL_S)
    raise EngineNotReady(f"The engine was not ready after {timeout_s:.0f} s; see {log}.")


def is_ready(url: str) -> bool:
    """Whether the engine at `url` answers its health check now."""
    try:
        return httpx.get(f"{url}/health", timeout=2).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def stop_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process that leads its own group, with all of its children, first gently."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
