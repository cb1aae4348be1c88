"""The server under the application: many open streams, idle connections, and a stop that lets answers finish."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

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


@pytest.mark.hostile
def test_a_graceful_stop_finishes_open_answers_and_takes_no_new_ones(tmp_path, unused_port):
    script = tmp_path / "server.py"
    script.write_text(textwrap.dedent(SLOW_SERVER))
    process = subprocess.Popen([sys.executable, str(script), str(unused_port), str(tmp_path / "data")], cwd=ROOT)
    url = f"http://127.0.0.1:{unused_port}"
    try:
        wait_until_up(url)
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
    finally:
        process.kill()
        process.wait()


def wait_until_up(url: str) -> None:
    """Return as soon as the server answers."""
    for _ in range(300):
        try:
            httpx.get(f"{url}/healthz")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")
