"""A parser that hangs, eats memory or crashes costs its own file only."""

import ctypes
import faulthandler
import time

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


def connect(path, filename, media_type):
    import socket

    socket.socket()


@pytest.fixture
def outcome(monkeypatch, tmp_path):
    """Parses a file with a parser of the test's choice, in a forked child; gives the reason it failed for."""
    import multiprocessing

    monkeypatch.setattr(sandbox, "_context", multiprocessing.get_context("fork"))

    def run(parser):
        monkeypatch.setattr(sandbox, "parse", parser)
        with pytest.raises(IngestError) as failure:
            sandbox.parse_in_child(tmp_path / "a.txt", "a.txt", "", timeout_s=2, memory_mib=4096)
        return failure.value.reason

    return run


@pytest.mark.parametrize(
    ("parser", "reason"),
    [(hang, "timeout"), (eat_memory, "memory"), (segfault, "crashed"), (connect, "corrupt")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_misbehaving_parser_fails_with_its_reason(outcome, parser, reason):
    assert outcome(parser) == reason


def test_the_next_file_is_read_as_if_nothing_had_happened(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Still here.")
    parsed = sandbox.parse_in_child(path, path.name, "", timeout_s=20, memory_mib=512)
    assert parsed.text == "Still here."
