"""A parser that hangs, eats memory or crashes costs its own file only."""

import ctypes
import faulthandler
import multiprocessing
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from folio.errors import IngestError
from ingest import sandbox
from ingest.parsed import Parsed


def hang(path, filename, media_type):
    time.sleep(60)


def eat_memory(path, filename, media_type):
    return Parsed(text=str(len(bytearray(16 * 2**30))))


def segfault(path, filename, media_type):
    faulthandler.disable()
    ctypes.string_at(0)


def compute(path, filename, media_type):
    """Uses its processor time up while its worker's clock, held up by others, has not run out."""
    while True:
        pass


def abort(path, filename, media_type):
    os.abort()


def leave(path, filename, media_type):
    os._exit(3)


def write_for_ever(path, filename, media_type):
    with path.with_name("flood").open("wb") as flood:
        while True:
            flood.write(bytes(2**20))


def pour(path, filename, media_type):
    return Parsed(text="x" * (sandbox.MAX_TEXT_CHARS + 1))


def nest(path, filename, media_type):
    return nest(path, filename, media_type)


def connect(path, filename, media_type):
    import socket

    socket.socket()


@pytest.fixture
def outcome(monkeypatch, tmp_path):
    """Parses a file with a parser of the test's choice, in a forked child; gives the reason it failed for."""
    monkeypatch.setattr(sandbox, "_context", multiprocessing.get_context("fork"))

    monkeypatch.setattr(sandbox, "MAX_WRITTEN_BYTES", 2**20)

    def run(parser):
        monkeypatch.setattr(sandbox, "parse", parser)
        with pytest.raises(IngestError) as failure:
            sandbox.parse_in_child(tmp_path / "a.txt", "a.txt", "", timeout_s=2, memory_mib=4096)
        return failure.value.reason

    return run


@pytest.mark.parametrize(
    ("parser", "reason"),
    [
        (hang, "timeout"), (eat_memory, "memory"), (segfault, "crashed"), (abort, "crashed"), (leave, "crashed"),
        (pour, "too_large"), (nest, "corrupt"), (write_for_ever, "corrupt"), (connect, "corrupt"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)  # fmt: skip
def test_a_misbehaving_parser_fails_with_its_reason(outcome, parser, reason):
    assert outcome(parser) == reason


def test_processor_time_used_up_is_a_timeout(monkeypatch):
    context = multiprocessing.get_context("fork")
    monkeypatch.setattr(sandbox, "_context", context)
    answers = sandbox._answers(compute, ("", "", ""), timeout_s=30, cpu_s=0, memory_mib=512)
    with pytest.raises(IngestError) as failure:
        next(answers)
    assert failure.value.reason == "timeout"


def test_a_child_has_no_network_of_its_own(monkeypatch):
    """Looked at where the system allows a network namespace; Python's sockets are gone everywhere."""

    def interfaces(*_):
        yield Path("/proc/net/dev").read_text()

    monkeypatch.setattr(sandbox, "_context", multiprocessing.get_context("fork"))
    allowed = subprocess.run(["unshare", "--user", "--net", "true"], capture_output=True, check=False)
    if allowed.returncode != 0:
        pytest.skip("this system allows no network namespace to this user")
    shown = next(sandbox._answers(interfaces, (), timeout_s=10, cpu_s=10, memory_mib=512))
    assert {line.split(":")[0].strip() for line in shown.splitlines()[2:]} == {"lo"}


@pytest.mark.parametrize(
    ("limit", "value", "said"), [("MAX_EMBEDDED_FILES", 3, "3 files"), ("MAX_EMBEDDED_BYTES", 2**20, "1 MiB")]
)
def test_archives_are_bounded_in_files_and_in_what_they_unpack_to(monkeypatch, tmp_path, limit, value, said):
    archive = tmp_path / "many.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for number in range(4):
            opened.writestr(f"{number}.txt", "0" * 2**19)
    monkeypatch.setattr(f"ingest.parsed.{limit}", value)
    monkeypatch.setattr(sandbox, "_context", multiprocessing.get_context("fork"))
    with pytest.raises(IngestError, match=said) as refused:
        sandbox.parse_in_child(archive, archive.name, "", timeout_s=20, memory_mib=4096)
    assert refused.value.reason == "too_large"


def test_the_next_file_is_read_as_if_nothing_had_happened(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Still here.")
    parsed = sandbox.parse_in_child(path, path.name, "", timeout_s=20, memory_mib=512)
    assert parsed.text == "Still here."


def test_folders_where_the_user_stands_are_not_taken_for_its_own_code(tmp_path):
    for package in ("folio", "ingest"):
        (tmp_path / package).mkdir()
    (tmp_path / "note.txt").write_text("The lamp stands in the hall.", encoding="utf-8")
    environment = {**os.environ, "FOLIO_DATA_DIR": str(tmp_path / "data")}
    environment.pop("PYTHONSAFEPATH", None)
    command = [Path(sys.executable).with_name("folio"), "ingest", "note.txt"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
