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
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from folio.errors import IngestError
from ingest import reasons
from ingest.ocr import recognise
from ingest.parsed import Parsed
from ingest.parsers.registry import parse

CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
MAX_TEXT_CHARS = 50_000_000
MAX_WRITTEN_BYTES = 256 * 2**20  # of one file that a parser may write
PRELOAD = [
    "ingest.parsers.pdf", "ingest.parsers.plain", "ingest.parsers.web_page", "ingest.parsers.office",
    "ingest.parsers.tables", "ingest.parsers.containers", "ingest.parsers.word", "ingest.parsers.slides",
    "ingest.parsers.mail", "ingest.parsers.archive",
]  # fmt: skip

_END = None  # what a child sends after its last answer

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(PRELOAD)


@dataclass(frozen=True)
class Failure:
    """What a child sends instead of an answer."""

    reason: str
    message: str


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
    answers = _answers(_parse, (path, filename, media_type), timeout_s, timeout_s, memory_mib)
    with contextlib.closing(answers):
        parsed: Parsed = next(answers)
        return parsed


def recognise_in_child(
    path: Path, pages: Sequence[int], *, page_timeout_s: float, memory_mib: int
) -> Generator[str, None, None]:
    """The text of each of `pages` (numbers from 1) of a PDF, read from their pictures.

    Args:
        page_timeout_s: seconds a page may take; its first includes loading the models.
        memory_mib: memory that recognition may use.

    Raises:
        IngestError: with the reason code that fits.
    """
    cpu_s = page_timeout_s * len(pages) * (os.cpu_count() or 1)
    yield from _answers(recognise, (path, pages), page_timeout_s, cpu_s, memory_mib)


def _answers(
    work: Callable[..., Any], args: tuple[object, ...], timeout_s: float, cpu_s: float, memory_mib: int
) -> Generator[Any, None, None]:
    """What `work` gives in a child process, one answer after the other, each within `timeout_s`."""
    receiver, sender = _context.Pipe(duplex=False)
    child = start_child(_child, sender, work, args, cpu_s, memory_mib)
    sender.close()
    try:
        while True:
            if not receiver.poll(timeout_s):
                raise too_slow(timeout_s)
            answer = receiver.recv()
            if isinstance(answer, Failure):
                raise IngestError(answer.reason, answer.message)
            if answer is _END:
                return
            yield answer
    except EOFError as exc:
        child.join(5)
        raise death(child.exitcode, cpu_s, memory_mib) from exc
    finally:
        receiver.close()
        end_child(child)


def start_child(target: Callable[..., None], *args: object) -> BaseProcess:
    """A started child process with the parsers loaded; `end_child` ends it."""
    child: BaseProcess = _context.Process(target=target, args=args, daemon=True)
    child.start()
    return child


def end_child(child: BaseProcess) -> None:
    """End a child, whatever it is doing."""
    if child.is_alive():
        child.kill()
    child.join()
    child.close()


def parser_pipe() -> tuple[Connection, Connection]:
    """Both ends of a pipe to a child, for questions and answers."""
    return _context.Pipe(duplex=True)


def death(exit_code: int | None, cpu_s: float, memory_mib: int) -> IngestError:
    """Why a child ended without a word."""
    if exit_code == -signal.SIGXCPU:
        return too_slow(cpu_s)
    if exit_code == -signal.SIGKILL:  # by the kernel, short of memory: nobody else kills it before it has answered
        return IngestError(reasons.MEMORY, _too_fat(memory_mib))
    if exit_code is not None and exit_code > 0:  # by itself, as when it can't start: that need not be the file's fault
        said = f"The process that reads files ended by itself (exit status {exit_code}); the worker's log may say why."
        return IngestError(reasons.CRASHED, said)
    return IngestError(reasons.CRASHED, "The parser crashed on this file; it may be damaged.")


def too_slow(limit_s: float) -> IngestError:
    """What became of a file that took longer than it may."""
    return IngestError(reasons.TIMEOUT, f"The file was not read within {limit_s:.0f} s.")


def _too_fat(limit_mib: int) -> str:
    return f"The file needs more than {limit_mib} MiB of memory to read."


def _parse(path: Path, filename: str, media_type: str) -> Iterator[Parsed]:
    yield parse(path, filename, media_type)


def parse_bounded(path: Path, filename: str, media_type: str) -> Parsed:
    """Parse in this process, and refuse a text that is too long to hand on."""
    parsed = parse(path, filename, media_type)
    _bounded(parsed)
    return parsed


def _child(sender: Connection, work: Callable[..., Any], args: tuple[object, ...], cpu_s: float, memory: int) -> None:
    confine(memory)
    allow_cpu(cpu_s)
    last: Failure | None = _END
    try:
        for answer in work(*args):
            sender.send(_bounded(answer))
    except BrokenPipeError:
        return
    except Exception as exc:
        last = failure(exc, memory)
    with contextlib.suppress(BrokenPipeError):
        sender.send(last)
    sender.close()


def failure(exc: Exception, memory_mib: int) -> Failure:
    """What an exception of a parser means for its file."""
    match exc:
        case IngestError():
            return Failure(exc.reason, exc.message)
        case MemoryError():
            return Failure(reasons.MEMORY, _too_fat(memory_mib))
        case FileNotFoundError():
            return Failure(reasons.MISSING, "The file is no longer there.")
        case RecursionError():
            return Failure(reasons.CORRUPT, "The file is nested too deeply.")
    # A parser's own surprise: the file is at fault, and only it fails.
    return Failure(reasons.CORRUPT, f"The file can't be read ({type(exc).__name__}); it may be damaged.")


def _bounded(answer: Parsed | str) -> Parsed | str:
    text = answer.text if isinstance(answer, Parsed) else answer
    if len(text) > MAX_TEXT_CHARS:
        raise IngestError(reasons.TOO_LARGE, f"The file holds more than {MAX_TEXT_CHARS:,} characters of text.")
    return answer


def allow_cpu(cpu_s: float) -> None:
    """Let this process compute for `cpu_s` more seconds; then the kernel ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime + cpu_s) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def confine(memory_mib: int) -> None:
    """Take from this process what a parser does not need."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_WRITTEN_BYTES, MAX_WRITTEN_BYTES))
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
