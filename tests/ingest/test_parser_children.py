"""A child that reads file after file is as good for each of them as a fresh one."""

import mmap
import multiprocessing
import os
import time
from types import SimpleNamespace

import pytest

from folio.errors import IngestError
from ingest import parser_children, sandbox
from ingest.parsed import Parsed
from ingest.parser_children import ParserChildren

read_before = []  # in a child: what it has read


def parse_as_named(path, filename, media_type):
    """Behaves as the file is named; answers with the child's process id."""
    kind = filename.split(".", 1)[0]
    worn_out = bool(read_before)
    read_before.append(filename)
    if kind == "hang":
        time.sleep(60)
    if kind == "bad":
        raise ValueError("not a file of this kind")
    if kind == "abort" or (kind == "abort-if-used" and worn_out):
        os._exit(3)
    if kind == "fat" or (kind == "fat-if-used" and worn_out):
        raise MemoryError
    if kind == "grow":
        # Mapped for itself: the heap of the forked test process may have that much to give without growing.
        size = (parser_children.GROWTH_MIB + 8) * 2**20
        read_before.append(mmap.mmap(-1, size))
        read_before[-1].write(b"x" * size)
    return Parsed(text=str(os.getpid()))


@pytest.fixture
def read(monkeypatch, tmp_path):
    """Reads a file by name; gives the process that read it, or the reason it failed for."""
    monkeypatch.setattr(sandbox, "_context", multiprocessing.get_context("fork"))
    monkeypatch.setattr(sandbox, "parse", parse_as_named)
    children = ParserChildren()

    def parse(name, timeout_s=10):
        try:
            return children.parse(tmp_path / name, name, "", timeout_s=timeout_s, memory_mib=4096).text
        except IngestError as exc:
            return exc.reason

    yield parse
    children.close()


def test_one_child_reads_many_files(read):
    assert len({read("a.txt") for _ in range(5)}) == 1


FAILURES = [("bad.txt", "corrupt"), ("abort.txt", "crashed"), ("fat.txt", "memory"), ("hang.txt", "timeout")]


@pytest.mark.parametrize(("name", "reason"), FAILURES)
def test_a_failure_costs_its_child_and_nobody_elses_file(read, name, reason):
    before = read("a.txt")
    assert read(name, timeout_s=1) == reason
    after = read("b.txt")
    assert after.isdigit()
    assert after != before


@pytest.mark.parametrize("name", ["abort-if-used.txt", "fat-if-used.txt"])
def test_what_fails_in_a_used_child_is_read_again_in_a_fresh_one(read, name):
    before = read("a.txt")
    assert read(name).isdigit()
    assert read("b.txt") != before


@pytest.mark.parametrize("name", ["a.pdf", "grow.txt"])
def test_no_file_is_read_after_native_code_or_much_memory(read, name):
    assert read("a.txt") == read(name) != read("b.txt")


def test_a_child_is_replaced_in_time(read, monkeypatch):
    monkeypatch.setattr(parser_children, "FILES_EACH", 2)
    readers = [read("a.txt") for _ in range(6)]
    assert readers[::2] == readers[1::2]
    assert len(set(readers)) == 3


def test_each_file_has_its_own_processor_time(monkeypatch):
    limits = []
    monkeypatch.setattr(sandbox.resource, "getrusage", lambda _: SimpleNamespace(ru_utime=40.0, ru_stime=2.5))
    monkeypatch.setattr(sandbox.resource, "setrlimit", lambda _, limit: limits.append(limit[0]))
    sandbox.allow_cpu(10)
    assert limits == [53]
