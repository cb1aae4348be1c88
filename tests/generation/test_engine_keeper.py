"""An engine that hangs is ended and started again, and everybody is told why it is down. The engine here is a small
process that speaks just enough of vLLM's HTTP, and says in its name that it is a fake."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from folio.settings import Settings, load_settings
from generation.vllm_keeper import EngineKeeper
from generation.vllm_log import why_it_ended
from generation.vllm_server import ServerCommand, engine_problem, server_command

FAKE_ENGINE = """
import http.server, sys, time
began, stuck = time.monotonic(), "stuck" in sys.argv

class FakeEngine(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        tokens = 5 if stuck else int((time.monotonic() - began) * 1000)
        body = f"vllm:generation_tokens_total {tokens}\\n".encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        self.send_error(503)
    def log_message(self, *arguments):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), FakeEngine).serve_forever()
"""


@pytest.fixture
def keeper(tmp_path: Path, unused_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., EngineKeeper]]:
    """Makes a keeper of an engine that is the given Python code."""
    made: list[EngineKeeper] = []
    monkeypatch.setattr("generation.vllm_watch.LOOK_TIMEOUT_S", 0.3)

    def make(code: str, *arguments: str, **changes: object) -> EngineKeeper:
        settings = load_settings(data_dir=tmp_path, **{"engine_idle_timeout_s": 0.6, **changes})
        command = (sys.executable, "-c", code, str(unused_port), *arguments)
        made.append(EngineKeeper(settings, ServerCommand(command, dict(os.environ), unused_port)))
        made[-1].child.start()
        return made[-1]

    yield make
    for one in made:
        one.child.stop()


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def tended(keeper: EngineKeeper, condition: Callable[[], bool], timeout_s: float = 15) -> bool:
    """Look and tend as `folio serve` does, until the condition holds."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        keeper.look()
        keeper.child.tend()
        if condition():
            return True
        time.sleep(0.05)
    return False


def problem(tmp_path: Path) -> str:
    return engine_problem(load_settings(data_dir=tmp_path))


def test_an_engine_that_makes_no_tokens_is_started_again(keeper, tmp_path: Path) -> None:
    kept = keeper(FAKE_ENGINE, "stuck")
    assert tended(kept, lambda: kept.child.restarts == 1)
    assert "no token" in problem(tmp_path)
    assert "started again" in problem(tmp_path)


def test_an_engine_that_is_stopped_and_no_longer_answers_is_started_again_and_well_after_it(keeper, tmp_path) -> None:
    kept = keeper(FAKE_ENGINE)
    assert tended(kept, lambda: kept._detector.was_ready)
    first = kept.child.pid
    os.kill(first, signal.SIGSTOP)
    assert tended(kept, lambda: kept.child.restarts == 1)
    assert kept.child.pid != first
    assert problem(tmp_path)
    assert tended(kept, lambda: kept._detector.was_ready and not problem(tmp_path))


def test_a_working_engine_is_left_alone(keeper) -> None:
    kept = keeper(FAKE_ENGINE)
    assert tended(kept, lambda: kept._detector.was_ready)
    assert not tended(kept, lambda: kept.child.restarts > 0, timeout_s=1.2)


def test_an_engine_that_ends_at_start_says_why(keeper, tmp_path: Path) -> None:
    kept = keeper("raise OSError('[Errno 98] Address already in use')")
    assert tended(kept, lambda: "port is taken" in problem(tmp_path))


def test_a_reason_of_an_earlier_start_is_not_told_again(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("RuntimeError: CUDA out of memory\n", encoding="utf-8")
    since = log.stat().st_size
    with log.open("a", encoding="utf-8") as stream:
        stream.write("(APIServer pid=1) ValueError: something else\n")
    assert "something else" in why_it_ended(log, 1, since)
    assert "memory" in why_it_ended(log, 1)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "FOLIO_KV_CACHE_GIB"),
        ("ValueError: To serve at least one request, 4.0 GiB KV cache is needed, which is larger", "KV cache"),
        ("ERROR: [Errno 98] error while attempting to bind: address already in use", "FOLIO_ENGINE_PORT"),
        ("api_server.py: error: unrecognized arguments: --no-such-thing", "FOLIO_ENGINE_ARGS"),
        ("User-specified max_model_len (9) is greater than the derived max_model_len (8)", "FOLIO_MAX_MODEL_LEN"),
        ("OSError: We couldn't connect to 'https://huggingface.co' to load the files, and", "FOLIO_MODEL"),
        ("OSError: nobody/nothing is not a local folder and is not a valid model identifier", "FOLIO_MODEL"),
    ],
)
def test_what_people_meet_is_said_with_its_way_out(tmp_path: Path, line: str, advice: str) -> None:
    log = tmp_path / "engine.log"
    log.write_text(f"(EngineCore pid=7) {line}\n", encoding="utf-8")
    assert advice in why_it_ended(log, 1)


def test_a_killed_engine_is_told_from_one_that_failed(tmp_path: Path) -> None:
    assert "killed" in why_it_ended(tmp_path / "none.log", -9)
    assert "status 3" in why_it_ended(tmp_path / "none.log", 3)


def test_the_reason_names_no_folder_of_the_machine(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text("OSError: [Errno 5] '/home/someone/m/config.json', see https://vllm.ai/a/b", encoding="utf-8")
    said = why_it_ended(log, 1)
    assert "OSError: [Errno 5] 'config.json', see https://vllm.ai/a/b Its log, engine.log" in said
    assert str(tmp_path) not in said


def test_settings_are_found_by_other_processes_only_while_serve_runs(tmp_path: Path) -> None:
    settings: Settings = load_settings(data_dir=tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "engine.json").write_text('{"url": "x", "pid": 4194304, "problem": "old"}', encoding="utf-8")
    assert engine_problem(settings) == ""


@pytest.mark.engine
@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"engine_args": "--no-such-argument"}, "FOLIO_ENGINE_ARGS"),
        ({"model": "nobody/no-such-model"}, "FOLIO_MODEL"),
    ],
)
def test_a_real_engine_that_can_not_start_says_what_to_change(tmp_path: Path, changes: dict, advice: str) -> None:
    settings = load_settings(data_dir=tmp_path, **changes)
    kept = EngineKeeper(settings, server_command(settings))
    kept.child.start()
    try:
        assert tended(kept, lambda: problem(tmp_path) != "", timeout_s=240)
    finally:
        kept.child.stop()
    assert advice in problem(tmp_path), (tmp_path / "logs" / "engine.log").read_text(encoding="utf-8")[-2000:]
