"""Child processes that parse one file after the other, so that a small file does not cost the start of a process.

Each file has the limits it would have in a child of its own, and a child is thrown away after a file that failed, that
took much memory or that foreign native code has read. So no file suffers from the one before it: where a used child
can't read a file for a reason that may be the child's, the file is read again in a fresh one.
"""

import contextlib
import resource
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed
from ingest.parsers.registry import suffix_of
from ingest.sandbox import (
    Failure,
    allow_cpu,
    confine,
    death,
    end_child,
    failure,
    parse_bounded,
    parser_pipe,
    start_child,
    too_slow,
)

FILES_EACH = 100  # of one child
GROWTH_MIB = 64  # of a child's memory, after which it is replaced: the next file shall have nearly all that it may take
READ_LAST = {"pdf"}  # read by a large native library, which might be made to spoil what is read after it
PERHAPS_THE_CHILD = {reasons.MEMORY, reasons.CRASHED, reasons.CORRUPT}


@dataclass(frozen=True)
class _Answer:
    """What a child sends for a file. `is_last`: it reads no further one."""

    result: Parsed | Failure
    is_last: bool


class ParserChildren:
    """Parses files in children that are kept: as many as there are callers at once. `close` ends those that wait."""

    def __init__(self) -> None:
        self._idle: list[_ParserChild] = []
        self._lock = threading.Lock()

    def parse(self, path: Path, filename: str, media_type: str, *, timeout_s: float, memory_mib: int) -> Parsed:
        """The text of a file; arguments and errors as of `parse_in_child`."""
        child = self._idle_child(memory_mib)
        try:
            if child is not None:
                return self._parse_with(child, path, filename, media_type, timeout_s)
        except IngestError as exc:
            if exc.reason not in PERHAPS_THE_CHILD:
                raise
        return self._parse_with(_ParserChild(memory_mib), path, filename, media_type, timeout_s)

    def close(self) -> None:
        """End the children that wait for a file."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.end()

    def _idle_child(self, memory_mib: int) -> "_ParserChild | None":
        with self._lock:
            child = self._idle.pop() if self._idle else None
        if child is not None and child.memory_mib != memory_mib:
            child.end()
            return None
        return child

    def _parse_with(
        self, child: "_ParserChild", path: Path, filename: str, media_type: str, timeout_s: float
    ) -> Parsed:
        keep = False
        try:
            answer = child.parse(path, filename, media_type, timeout_s)
            if isinstance(answer.result, Failure):
                raise IngestError(answer.result.reason, answer.result.message)
            keep = not answer.is_last
            return answer.result
        finally:
            if keep:
                with self._lock:
                    self._idle.append(child)
            else:
                child.end()


class _ParserChild:
    """One child, from here. Not for several threads at once."""

    def __init__(self, memory_mib: int) -> None:
        self.memory_mib = memory_mib
        self._pipe, theirs = parser_pipe()
        self._process = start_child(_serve, theirs, memory_mib)
        theirs.close()

    def parse(self, path: Path, filename: str, media_type: str, timeout_s: float) -> _Answer:
        """What the child makes of a file.

        Raises:
            IngestError: `timeout`, or how it died.
        """
        try:
            self._pipe.send((path, filename, media_type, timeout_s))
            if not self._pipe.poll(timeout_s):
                raise too_slow(timeout_s)
            answer: _Answer = self._pipe.recv()
            return answer
        except (EOFError, BrokenPipeError, ConnectionResetError) as exc:
            self._process.join(5)
            raise death(self._process.exitcode, timeout_s, self.memory_mib) from exc

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._pipe.close()
        end_child(self._process)


def _serve(pipe: Connection, memory_mib: int) -> None:
    """The child's side: parse what is asked for until the pipe closes."""
    confine(memory_mib)
    most_mib = _peak_mib() + GROWTH_MIB
    for count in range(1, FILES_EACH + 1):
        try:
            path, filename, media_type, cpu_s = pipe.recv()
        except EOFError:
            return
        allow_cpu(cpu_s)
        result: Parsed | Failure
        try:
            result = parse_bounded(path, filename, media_type)
        except Exception as exc:  # the file fails for it, and nothing else
            result = failure(exc, memory_mib)
        is_last = (
            isinstance(result, Failure)
            or count == FILES_EACH
            or suffix_of(filename, media_type) in READ_LAST
            or _peak_mib() > most_mib
        )
        with contextlib.suppress(BrokenPipeError):
            pipe.send(_Answer(result, is_last))
        if is_last:
            return


def _peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform == "linux" else peak / 2**20
