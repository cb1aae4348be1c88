"""Parses one file in a child process with limits on time, memory and output, and without network.

The child is forked from a small server process that has the parsers loaded, so a file costs milliseconds. Whatever it
does (hang, eat memory, crash in native code) costs that file only.
"""

import contextlib
import ctypes
import multiprocessing
import multiprocessing.forkserver
import os
import resource
import signal
import socket
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed
from ingest.parsers.registry import parse

CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
MAX_TEXT_CHARS = 50_000_000
PRELOAD = [
    "ingest.parsers.pdf", "ingest.parsers.plain", "ingest.parsers.web_page", "ingest.parsers.office",
    "ingest.parsers.tables", "ingest.parsers.containers", "ingest.parsers.word", "ingest.parsers.slides",
    "ingest.parsers.mail", "ingest.parsers.archive",
]  # fmt: skip

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(PRELOAD)


def parse_in_child(path: Path, filename: str, media_type: str, *, timeout_s: float, memory_mib: int) -> Parsed:
    """The text of a file.

    Args:
        path: the file.
        filename: its name, which decides the parser.
        media_type: what its sender said it is; used where the name does not tell.
        timeout_s: seconds it may take.
        memory_mib: memory its parser may use.

    Raises:
        IngestError: with the reason code that fits.
    """
    receiver, sender = _context.Pipe(duplex=False)
    child = _context.Process(
        target=_child, args=(sender, path, filename, media_type, timeout_s, memory_mib), daemon=True
    )
    child.start()
    sender.close()
    try:
        if not receiver.poll(timeout_s):
            raise IngestError(reasons.TIMEOUT, f"The file was not read within {timeout_s:.0f} s.")
        answer = receiver.recv()
    except EOFError as exc:
        child.join(5)
        raise IngestError(reasons.CRASHED, "The parser crashed on this file; it may be damaged.") from exc
    finally:
        receiver.close()
        if child.is_alive():
            child.kill()
        child.join()
        child.close()
    if isinstance(answer, Parsed):
        return answer
    reason, message = answer
    raise IngestError(reason, message)


def _child(sender: Connection, path: Path, filename: str, media_type: str, timeout_s: float, memory_mib: int) -> None:
    _limit(timeout_s, memory_mib)
    answer: Parsed | tuple[str, str]
    try:
        answer = parse(path, filename, media_type)
        if len(answer.text) > MAX_TEXT_CHARS:
            answer = (reasons.TOO_LARGE, f"The file holds more than {MAX_TEXT_CHARS:,} characters of text.")
    except IngestError as exc:
        answer = (exc.reason, exc.message)
    except MemoryError:
        answer = (reasons.MEMORY, f"The file needs more than {memory_mib} MiB of memory to read.")
    except FileNotFoundError:
        answer = (reasons.MISSING, "The file is no longer there.")
    except RecursionError:
        answer = (reasons.CORRUPT, "The file is nested too deeply.")
    except Exception as exc:  # a parser's own surprise; the file is at fault, and only it fails
        answer = (reasons.CORRUPT, f"The file can't be read ({type(exc).__name__}); it may be damaged.")
    with contextlib.suppress(BrokenPipeError):
        sender.send(answer)
    sender.close()


def _limit(timeout_s: float, memory_mib: int) -> None:
    """Take from this process what a parser does not need."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(timeout_s) + 1, int(timeout_s) + 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 2**20, 256 * 2**20))
    if sys.platform == "linux":
        # RLIMIT_DATA counts what is really private and writable; address space alone would refuse thread stacks.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_mib * 2**20, memory_mib * 2**20))
        unshare = ctypes.CDLL(None).unshare
        if unshare(CLONE_NEWNET) != 0:
            unshare(CLONE_NEWUSER | CLONE_NEWNET)
        _die_with_the_worker()
    # Where the kernel allows no network namespace of its own, Python code at least can open no connection.
    socket.socket = _NoSocket  # type: ignore[misc, assignment]
    os.environ["NO_PROXY"] = "*"


def _die_with_the_worker() -> None:
    """Ask the kernel to end this process with its fork server, which itself ends when its worker's pipe closes.

    A worker killed with SIGKILL can end nobody: without this, a parser that hangs would outlive it for ever. The fork
    server hands each child the writing end of that pipe, so a child that hangs would keep the server alive as well.
    """
    server: Any = vars(multiprocessing.forkserver)["_forkserver"]
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the kernel was asked
        os.kill(os.getpid(), signal.SIGKILL)


class _NoSocket:
    """Stands where `socket.socket` was."""

    def __init__(self, *_: object, **__: object) -> None:
        raise PermissionError("A parser has no network.")
