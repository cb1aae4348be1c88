"""Children are kept alive, restarted with back-off, and end with all that they started."""

import os
import sys
import time

import pytest

from folio.supervision import Child

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def child():
    made = []

    def make(command: list[str]) -> Child:
        made.append(Child("test", command, dict(os.environ), stop_timeout_s=2))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def wait_for(condition, timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_killed_child_is_started_again(child):
    kept = child(SLEEP)
    kept.start()
    first = kept.pid
    kept.kill()

    def restarted() -> bool:
        kept.tend()
        return kept.pid not in (None, first)

    assert wait_for(restarted)
    assert kept.restarts == 1


def test_a_child_that_keeps_dying_is_not_started_at_full_speed(child):
    dying = child([sys.executable, "-c", "raise SystemExit(1)"])
    dying.start()
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        dying.tend()
        time.sleep(0.02)
    assert 1 <= dying.restarts <= 2


def test_stopping_ends_grandchildren_too(child, tmp_path):
    pid_file = tmp_path / "pid"
    script = (
        "import subprocess, sys, time, pathlib\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(p.pid))\n"
        "time.sleep(60)"
    )
    parent = child([sys.executable, "-c", script])
    parent.start()
    assert wait_for(lambda: pid_file.exists() and pid_file.read_text())
    grandchild = int(pid_file.read_text())
    parent.stop()

    def gone() -> bool:
        try:
            with open(f"/proc/{grandchild}/stat", encoding="utf-8") as stat:
                return stat.read().split()[2] == "Z"
        except FileNotFoundError:
            return True

    assert wait_for(gone)
