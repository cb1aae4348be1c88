"""Processes are killed while Folio serves: nobody hangs, everybody is told, and it works again by itself."""

import json
import os
import signal
import threading
import time

import httpx
import pytest

pytestmark = [pytest.mark.hostile, pytest.mark.engine]

QUESTION = {"question": "Describe the harbour, its master, its fees and its tides in ten sentences.", "stream": True}
TEXT = (
    "The harbour of Quillmouth lies in the bay of Brennow. Its master is Odette Varga. Mooring costs 14 florins. "
    "The tide rises by 6 metres. The lighthouse was built in 1871. The quay is 900 metres long. Ferries leave at noon."
)


def children(parent: int) -> dict[str, int]:
    """The child processes of `folio serve` by what they run."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as stat:
                ppid = int(stat.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{entry}/cmdline", encoding="utf-8") as cmdline:
                command = cmdline.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if ppid == parent:
            kinds = {"vllm.entrypoints": "engine", "\0web": "web", "\0worker": "worker"}
            found |= {kind: int(entry) for mark, kind in kinds.items() if mark in command}
    return found


def serve_pid(folder) -> int:
    return int(json.loads((folder / "run" / "engine.json").read_text(encoding="utf-8"))["pid"])


def wait_ready(address: str, timeout_s: float = 400) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{address}/readyz", timeout=10).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise AssertionError("not ready in time")


def stream(address: str, first_token: threading.Event, events: list[tuple[float, str, dict]]) -> None:
    with httpx.stream("POST", f"{address}/api/v1/ask", json=QUESTION, timeout=120) as reply:
        name = ""
        for line in reply.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                events.append((time.monotonic(), name, json.loads(line.removeprefix("data: "))))
                if name == "token":
                    first_token.set()


@pytest.mark.timeout(900)
def test_killing_the_engine_in_mid_answer_ends_that_answer_with_an_error_and_it_comes_back(start_folio, tmp_path):
    with start_folio(FOLIO_KV_CACHE_GIB="1") as address:
        upload = httpx.post(f"{address}/api/v1/documents", json={"title": "harbour", "text": TEXT}, timeout=60)
        assert upload.status_code == 202, upload.text
        wait_ready(address)
        processes = children(serve_pid(tmp_path / "folio"))
        assert {"worker", "engine"} <= set(processes)
        events: list[tuple[float, str, dict]] = []
        first_token = threading.Event()
        reader = threading.Thread(target=stream, args=(address, first_token, events))
        reader.start()
        assert first_token.wait(120)
        killed_at = time.monotonic()
        os.killpg(processes["engine"], signal.SIGKILL)
        reader.join(60)
        at, name, problem = events[-1]
        assert name == "error", events[-1]
        assert at - killed_at < 5
        assert problem["code"] in ("engine_failed", "engine_not_ready", "unavailable")
        refused = httpx.post(f"{address}/api/v1/ask", json={"question": "Who is the master?"}, timeout=60)
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        found = httpx.post(f"{address}/api/v1/search", json={"query": "harbour master"}, timeout=60)
        assert found.json()["passages"]
        wait_ready(address)
        again = httpx.post(f"{address}/api/v1/ask", json={"question": "Who is the harbour master?"}, timeout=180)
        assert again.status_code == 200
        assert "Odette Varga" in again.json()["answer"]
