"""The server under the application: many open streams, idle connections, and a stop that lets answers finish."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.hostile
def test_sixty_four_streams_and_two_hundred_idle_connections_lose_nothing():
    run = subprocess.run(
        [sys.executable, "benchmarks/web_streams.py", "--quick"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    figures = json.loads(run.stdout.splitlines()[-1])
    assert figures["lost_or_reordered"] == 0
    assert figures["idle_alive"] == 200
    assert figures["median"] <= 5


SLOW_SERVER = """
import sys
sys.path[:0] = ["benchmarks", "."]
from web_streams import run_server
if __name__ == "__main__":
    run_server(int(sys.argv[1]), sys.argv[2])
"""


@contextmanager
def real_server(
    folder: Path, port: int, source: str = SLOW_SERVER, **options: Any
) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """A server in a process of its own; yields it and its address."""
    script = folder / "server.py"
    script.write_text(source)
    command = [sys.executable, str(script), str(port), str(folder / "data")]
    process = subprocess.Popen(command, cwd=ROOT, **options)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(url)
        yield process, url
    finally:
        process.kill()
        process.wait()


@pytest.mark.hostile
def test_a_graceful_stop_finishes_open_answers_and_takes_no_new_ones(tmp_path, unused_port):
    with real_server(tmp_path, unused_port) as (process, url):
        names = []
        with httpx.stream("POST", f"{url}/api/v1/ask", json={"question": "40", "stream": True}, timeout=30) as reply:
            for line in reply.iter_lines():
                if line.startswith("event: "):
                    names.append(line.removeprefix("event: "))
                if len(names) == 3:
                    process.send_signal(signal.SIGTERM)
                    time.sleep(0.3)
                    names.append("stopping")
                    with pytest.raises(httpx.TransportError):
                        httpx.get(f"{url}/healthz", timeout=2)
        assert names.count("token") == 40
        assert names[-1] == "done"
        assert process.wait(20) == 0


IMPATIENT_SERVER = (
    """
import sys
import web.server
web.server.SILENT_PEER_S = 1
"""
    + SLOW_SERVER
)


@pytest.mark.hostile
def test_clients_that_never_finish_their_requests_do_not_keep_others_out(tmp_path, unused_port):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FOLIO_WEB_THREADS": "8"}
    options = {"env": environment, "stderr": subprocess.DEVNULL}
    with real_server(tmp_path, unused_port, IMPATIENT_SERVER, **options) as (process, url):
        stalled = [socket.create_connection(("127.0.0.1", unused_port)) for _ in range(12)]
        for connection in stalled:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
        assert httpx.get(f"{url}/healthz", timeout=20).status_code == 200
        for connection in stalled:
            connection.close()
        process.terminate()
        process.wait(20)


@pytest.mark.hostile
def test_a_stream_goes_on_over_another_connection_and_thread_of_the_real_server(tmp_path, unused_port):
    with real_server(tmp_path, unused_port) as (_, url):
        seen, last = [], ""
        for stop_after in (5, 17, 1000):  # each over a connection of its own
            headers = {"Last-Event-ID": last} if last else {}
            with httpx.stream(
                "POST", f"{url}/api/v1/ask", json={"question": "40", "stream": True}, headers=headers, timeout=30
            ) as reply:
                for line in reply.iter_lines():
                    if line.startswith("id: "):
                        last = line.removeprefix("id: ")
                        seen.append(int(last.split(".")[1]))
                    if len(seen) >= stop_after:
                        break
        assert seen == list(range(1, 43))  # the passages, 40 tokens, the end
        gone = httpx.post(f"{url}/api/v1/ask", json={"question": "40"}, headers={"Last-Event-ID": "0" * 32 + ".7"})
        assert (gone.status_code, gone.json()["code"]) == (410, "stream_gone")


@pytest.mark.hostile
def test_a_client_of_the_real_server_that_hangs_up_ends_its_answer(tmp_path, unused_port):
    with real_server(tmp_path, unused_port) as (_, url):
        with pytest.raises(httpx.ReadTimeout):  # the answer would take 50 s
            httpx.post(f"{url}/api/v1/ask", json={"question": "1000"}, timeout=0.5)
        time.sleep(1.5)
        log = httpx.get(f"{url}/metrics").text
        ended = [line for line in log.splitlines() if line.startswith("folio_http_requests_total") and "503" in line]
        assert ended
        assert 'endpoint="ask.ask"' in ended[0]


def wait_until_up(url: str) -> None:
    """Return as soon as the server answers."""
    for _ in range(300):
        try:
            httpx.get(f"{url}/healthz")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")
