"""`kill -9` of the ingest worker at random moments: nothing is lost, doubled or left behind.

Each round is a new data folder: 200 files (twins among them) and then newer versions of some, a real `folio worker`
killed with SIGKILL somewhere on its way, and another one that finishes. FOLIO_KILL_ROUNDS sets the rounds,
FOLIO_KILL_SEED the first one's seed.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from folio.catalog.models import Chunk, Document, IngestItem
from folio.services import Services, build_services
from folio.settings import load_settings
from ingest.leftovers import leftovers, sweep
from ingest.reconciliation import differences
from ingest.storage import FileStorage
from ingest.worker import worker_runs

pytestmark = [pytest.mark.hostile, pytest.mark.timeout(3000)]

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("FOLIO_KILL_ROUNDS", "3"))
SEED = int(os.environ.get("FOLIO_KILL_SEED", "0"))
FILES, TWINS, CHANGED = 200, 12, 30
LEASE_S = "1.5"
FINISHED = ("done", "unchanged", "failed", "cancelled")


def text_of(number: int, version: int = 1) -> str:
    """A short file, English or Chinese, of its own content."""
    if number % 2:
        return (
            f"第{number}号码头记录，第{version}版。潮水上涨了{number * version}厘米，守塔人写下了时间。\n\n"
            f"傍晚有{number + 3}艘船进港。灯塔在日落后亮起，雾号每隔一分钟响一次。\n"
        )
    return (
        f"Harbour log {number}, version {version}. The tide rose by {number * version} centimetres.\n\n"
        f"In the evening {number + 3} ships came in. The lamp was lit after sunset and the fog horn sounded.\n"
    )


def write_files(folder: Path) -> None:
    """The first version of every file; the last ones are twins of the first ones."""
    folder.mkdir()
    for number in range(FILES):
        same_as = number - (FILES - TWINS) if number >= FILES - TWINS else number
        (folder / f"log-{number:03d}.txt").write_text(text_of(same_as), encoding="utf-8")


@contextmanager
def worker(data: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A real `folio worker`."""
    variables = {**os.environ, "FOLIO_DATA_DIR": str(data), "FOLIO_LEASE_S": LEASE_S}
    with (data / "worker.log").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", "folio", "worker"], cwd=ROOT, env=variables, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def finished(services: Services) -> int:
    with services.catalog.read() as session:
        return session.scalar(select(func.count()).where(IngestItem.state.in_(FINISHED))) or 0


def wait_until(condition, process: "subprocess.Popen[bytes]", log: Path, timeout_s: float = 1200) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        failed = process.poll() is not None or time.monotonic() > deadline
        assert not failed, log.read_text(encoding="utf-8", errors="replace")[-4000:]
        time.sleep(0.05)


def descendants(pid: int) -> set[int]:
    children = Path(f"/proc/{pid}/task").glob("*/children") if Path(f"/proc/{pid}").exists() else ()
    found = {int(child) for listed in children for child in listed.read_text().split()}
    return found | {below for child in found for below in descendants(child)}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill_somewhere(data: Path, services: Services, chance: random.Random) -> None:
    """Run a worker and kill it: while it starts, while files go in, or while it publishes."""
    total = FILES + CHANGED
    share = chance.uniform(0, 1.1)
    with worker(data) as process:
        wait_until(lambda: finished(services) >= min(total, int(share * total)), process, data / "worker.log")
        pause_s = chance.uniform(0, 0.1) if share < 1 else chance.uniform(0, 3)
        time.sleep(pause_s)
        below = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 10
    while left := [pid for pid in below if alive(pid)]:
        assert time.monotonic() < deadline, f"{len(left)} processes outlived their worker"
        time.sleep(0.05)


def finish(data: Path, services: Services) -> None:
    """Let another worker do the rest and publish it, then stop it as a supervisor would."""
    total = FILES + CHANGED
    info = services.collections.get("default")
    with worker(data) as process:
        # A worker that holds its lock minds signals; when all was finished already, it has hardly started.
        wait_until(lambda: finished(services) >= total and worker_runs(services.settings), process, data / "worker.log")
        process.terminate()
        assert process.wait(60) == 0
    assert services.generations.verify(info.id) == []


def check_catalog(services: Services, expected: dict[str, str]) -> None:
    with services.catalog.read() as session:
        states = Counter(session.scalars(select(IngestItem.state)))
        texts = session.execute(select(Document.uri, Document.text, Document.id)).all()
        chunks = session.execute(select(Chunk.document_id, Chunk.ordinal, Chunk.text, Chunk.vector)).all()
    assert sum(states.values()) == FILES + CHANGED
    assert set(states) <= {"done", "unchanged"}, states
    assert Counter(uri for uri, _, _ in texts) == Counter(expected.keys())
    assert {uri: text for uri, text, _ in texts} == expected
    places = Counter((document, ordinal) for document, ordinal, _, _ in chunks)
    assert set(places.values()) == {1}
    assert {document for document, _ in places} == {document for _, _, document in texts}
    sample = random.Random(0).sample(chunks, 20)
    vectors = np.asarray([np.frombuffer(chunk.vector, "<f2") for chunk in sample], dtype=np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-2)


def check_searchable(services: Services) -> None:
    """Both indexes find every document, and a search answers."""
    with services.catalog.read() as session:
        documents = session.scalars(select(Document.id)).all()
    for document_id in documents:
        assert services.searcher.contains_document("default", document_id) == {"dense": True, "lexical": True}
    assert services.searcher.search("When was the lamp lit?").passages


def check_folders(data: Path, services: Services) -> None:
    """No temporary file or folder is left behind, nor the bytes of a replaced version.

    A kill may fall between the commit of a new version and the removal of the old one's bytes; the sweep takes those.
    """
    storage = FileStorage(data / "files")
    assert len(leftovers(services.catalog, storage, older_than_s=0)) <= 1
    sweep(services.catalog, storage, older_than_s=0)
    with services.catalog.read() as session:
        needed = set(session.scalars(select(Document.sha256)))
    assert {path.name for path in storage.everything()} == needed
    left = [path.name for path in (data / "indexes").glob("*/.*") if path.is_dir() and ".live-" not in path.name]
    assert left == []


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_a_killed_worker_loses_nothing_and_doubles_nothing(seed, tmp_path):
    chance = random.Random(seed)
    data, folder = tmp_path / "data", tmp_path / "in"
    services = build_services(load_settings(data_dir=data))
    write_files(folder)
    services.ingestion.submit_paths("default", [str(folder)])
    changed = sorted(chance.sample(range(FILES), CHANGED))
    for number in changed:
        (folder / f"log-{number:03d}.txt").write_text(text_of(number, 2), encoding="utf-8")
    paths = [str(folder / f"log-{number:03d}.txt") for number in changed]
    services.ingestion.submit_paths("default", paths)
    expected = {path.as_uri(): path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}
    kill_somewhere(data, services, chance)
    finish(data, services)
    check_catalog(services, expected)
    check_searchable(services)
    assert differences(services.catalog, services.generations, services.settings) == []
    check_folders(data, services)
    services.close()


def test_a_second_worker_waits_and_takes_the_place_of_one_that_is_killed(tmp_path):
    services = build_services(load_settings(data_dir=tmp_path))
    log = tmp_path / "worker.log"
    with worker(tmp_path) as first:
        wait_until(lambda: worker_runs(services.settings), first, log, 120)
        with worker(tmp_path) as second:
            wait_until(lambda: "takes its place" in log.read_text(encoding="utf-8"), second, log, 120)
            first.kill()
            first.wait()
            wait_until(lambda: worker_runs(services.settings), second, log, 60)
            second.terminate()
            assert second.wait(60) == 0
    services.close()
