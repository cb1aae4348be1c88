"""Several machines on one PostgreSQL catalog and one Redis queue: real servers, real worker processes, `kill -9`.

Each machine is a data folder of its own; the stored files are one folder that all of them see, as by NFS.
"""

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.locks import Turn, wait_turn
from folio.catalog.migrate import MIGRATIONS
from folio.catalog.models import Base, Chunk, Document, IngestItem
from folio.services import Services, build_services
from folio.settings import load_settings
from ingest.lease import Leases
from ingest.leftovers import release
from ingest.reconciliation import differences
from ingest.storage import FileStorage
from ingest.views import JobView
from ingest.worker import worker_runs

pytestmark = [pytest.mark.hostile, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
LEASE_S = 2.0


@dataclass(frozen=True)
class Machine:
    """One machine: its parts in this process, and the variables of its own processes."""

    services: Services
    variables: dict[str, str]

    def start_worker(self) -> "subprocess.Popen[bytes]":
        log = self.services.settings.data_dir / "worker.log"
        with log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "folio", "worker"], cwd=ROOT, env=self.variables, stdout=output, stderr=output
            )

    def run(self, *arguments: str) -> str:
        """What a `folio` command prints; it must succeed."""
        line = [sys.executable, "-m", "folio", *arguments]
        done = subprocess.run(line, cwd=ROOT, env=self.variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def machines(database_url, redis_url, embedder, tmp_path) -> Iterator[list[Machine]]:
    """Two machines."""
    (tmp_path / "shared").mkdir()
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "files").symlink_to(tmp_path / "shared")
        settings = load_settings(
            data_dir=tmp_path / name, database_url=database_url, queue_url=redis_url, lease_s=LEASE_S
        )
        variables = {
            **os.environ, "FOLIO_DATA_DIR": str(tmp_path / name), "FOLIO_DATABASE_URL": database_url,
            "FOLIO_QUEUE_URL": redis_url, "FOLIO_LEASE_S": str(LEASE_S),
        }  # fmt: skip
        made.append(Machine(build_services(settings, embedder=embedder), variables))
    yield made
    for machine in made:
        machine.services.close()


def wait_until(condition: Callable[[], bool], timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def write(folder: Path, name: str, count: int) -> list[str]:
    """So many files; every fifth has the bytes of the one before it."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        said = number - 1 if number % 5 == 4 else number
        (folder / f"{name}-{number:03d}.txt").write_text(
            f"Harbour log {name} {said}. In the evening {said + 3} ships came in, and the lamp was lit. 灯塔亮起。\n"
            * 3,
            encoding="utf-8",
        )
    return [str(folder / f"{name}-{number:03d}.txt") for number in range(count)]


def items(services: Services, job: JobView) -> list[IngestItem]:
    with services.catalog.read() as session:
        return list(session.scalars(select(IngestItem).where(IngestItem.job_id == job.id)))


def pid_of(item: IngestItem) -> int:
    return int(item.worker.split(":")[1])


def held_by(services: Services, job: JobView, pid: int) -> list[IngestItem]:
    """What a worker is at."""
    return [item for item in items(services, job) if item.state == "running" and pid_of(item) == pid]


def check_once(services: Services, paths: list[str]) -> None:
    """Each file is one document of the first version, with its text, and its chunks stand there once."""
    expected = {Path(path).as_uri(): Path(path).read_text(encoding="utf-8") for path in paths}
    with services.catalog.read() as session:
        documents = session.execute(select(Document.uri, Document.text, Document.version)).all()
        chunks = session.execute(select(Chunk.document_id, Chunk.ordinal)).all()
    assert Counter(uri for uri, _, _ in documents) == Counter(expected.keys())
    assert all(version == 1 and text.strip() == expected[uri].strip() for uri, text, version in documents)
    assert set(Counter(map(tuple, chunks)).values()) == {1}


def test_two_workers_share_the_work_and_one_takes_over_from_the_other(machines, tmp_path):
    one, two = machines
    workers = [machine.start_worker() for machine in machines]
    try:
        wait_until(lambda: all(worker_runs(machine.services.settings) for machine in machines))
        paths: list[str] = []
        pids: set[int] = set()
        while len(pids) < 2:  # the first that is ready may take all of a job
            fresh = write(tmp_path / "in", f"first{len(paths)}", 40)
            paths += fresh
            job = one.services.ingestion.submit_paths("default", fresh)
            wait_until(lambda job=job: one.services.ingestion.job(job.id).is_finished)
            done = items(one.services, job)
            assert {(item.state, item.attempts) for item in done} == {("done", 1)}
            pids |= {pid_of(item) for item in done}
            assert len(paths) < 2000
        assert pids == {worker.pid for worker in workers}
        check_once(one.services, paths)

        fresh = write(tmp_path / "in", "second", 150)
        paths += fresh
        job = two.services.ingestion.submit_paths("default", fresh)
        wait_until(lambda: len(held_by(two.services, job, workers[0].pid)) > 3)
        workers[0].kill()
        workers[0].wait()
        wait_until(lambda: two.services.ingestion.job(job.id).is_finished)
        ended = items(two.services, job)
        assert {item.state for item in ended} == {"done"}
        taken_over = [item for item in ended if item.attempts == 2]
        assert taken_over
        assert {pid_of(item) for item in taken_over} == {workers[1].pid}
        assert {item.attempts for item in ended} == {1, 2}
        check_once(two.services, paths)
        workers[1].terminate()
        assert workers[1].wait(60) == 0
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()

    for machine in machines:
        assert machine.services.searcher.search("When was the lamp lit?").passages
    document = one.services.documents.list("default").items[0]
    receipt = one.services.documents.delete(document.id)
    assert receipt.verified, receipt
    assert two.services.searcher.contains_document("default", document.id) == {"dense": False, "lexical": False}
    for machine in machines:
        assert differences(machine.services.catalog, machine.services.generations, machine.services.settings) == []
    assert one.run("doctor") == "Catalog, indexes and files agree.\n"


@pytest.fixture
def postgres_catalog(database_url) -> Iterator[Catalog]:
    """An empty catalog on PostgreSQL, not migrated."""
    opened = Catalog(database_url)
    yield opened
    opened.dispose()


def test_migrations_go_up_and_down_on_postgresql_and_give_the_models_schema(postgres_catalog):
    catalog = postgres_catalog
    catalog.migrate()
    catalog.migrate()
    with catalog.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with catalog.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    catalog.migrate()
    with catalog.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


@pytest.mark.parametrize("turn", list(Turn))
def test_on_postgresql_items_are_taken_and_files_released_by_turns(postgres_catalog, tmp_path, turn):
    postgres_catalog.migrate()
    ended = threading.Event()

    def act() -> None:
        if turn is Turn.TAKE_ITEM:
            Leases(postgres_catalog, "two", lease_s=30, attempts=1).take("0" * 32)
        else:
            release(postgres_catalog, FileStorage(tmp_path), ["0" * 64])
        ended.set()

    other = threading.Thread(target=act)
    with postgres_catalog.write() as session:
        wait_turn(session, turn)
        other.start()
        assert not ended.wait(0.5)
    other.join(20)
    assert ended.is_set()
