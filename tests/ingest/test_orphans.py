"""A parser never outlives its worker: SIGKILL of the worker ends whatever its parsers were doing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent"),
]

# Reading a named pipe that nobody writes to hangs for ever, as a bad file may make a parser hang.
HANGING = """
import sys
from pathlib import Path
from ingest.sandbox import parse_in_child
if __name__ == "__main__":
    parse_in_child(Path(sys.argv[1]), "a.txt", "", timeout_s=600, memory_mib=512)
"""


def descendants(pid: int) -> set[int]:
    """Every process below `pid`."""
    parents: dict[int, int] = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, parent = stat.rsplit(")", 1)[1].split()[:2]
        if state != "Z":
            parents[int(entry)] = int(parent)
    found: set[int] = set()
    frontier = {pid}
    while frontier:
        frontier = {child for child, parent in parents.items() if parent in frontier} - found
        found |= frontier
    return found


def alive(pids: set[int]) -> set[int]:
    """Those of `pids` that still run."""
    living = set()
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z":
                living.add(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return living


def wait_for(condition, timeout_s: float = 30) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_hanging_parser_ends_when_its_worker_is_killed(tmp_path):
    pipe, script = tmp_path / "pipe", tmp_path / "hang.py"
    os.mkfifo(pipe)
    script.write_text(HANGING, encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script), str(pipe)], env={**os.environ, "PYTHONPATH": "."}) as worker:
        # the fork server, the tracker of shared resources, and the parser that hangs
        assert wait_for(lambda: len(descendants(worker.pid)) >= 3), "the parser did not start"
        time.sleep(0.3)
        below = descendants(worker.pid)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    ended = wait_for(lambda: not alive(below), 10)
    left = alive(below)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert ended, f"{len(left)} processes outlived their worker"
