"""Starts child processes, restarts those that die, and stops them all.

A child leads its own process group, so that what it started ends with it; on Linux it also gets SIGTERM when the
supervisor itself is killed. A child that keeps dying is started again after 1, 2, 4 ... 30 seconds.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from folio.log import get_logger

BACKOFF_MAX_S = 30.0
HEALTHY_AFTER_S = 60.0  # a child that lived this long starts again without waiting
LOG_ROTATE_BYTES = 20 * 2**20
PR_SET_PDEATHSIG = 1

log = get_logger(__name__)


@dataclass
class Child:
    """A process to keep alive.

    Args:
        name: what people call it.
        command: its command line.
        environment: its whole environment.
        log_file: where its output goes; None: to the supervisor's own.
        stop_timeout_s: seconds it may take to end by itself when asked.
        ended: called with its exit status and where in the log its output began (bytes), when it ended by itself.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log_file: Path | None = None
    stop_timeout_s: float = 10.0
    ended: Callable[[int, int], None] | None = field(default=None, repr=False)
    restarts: int = 0
    _log_start: int = 0
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)
    _started_at: float = 0.0
    _next_start_at: float = 0.0
    _backoff_s: float = 1.0

    def start(self) -> None:
        """Start the process."""
        output = None
        if self.log_file is not None:
            self.log_file.parent.mkdir(parents=True, exist_ok=True)
            if self.log_file.exists() and self.log_file.stat().st_size > LOG_ROTATE_BYTES:
                self.log_file.replace(self.log_file.with_suffix(".previous.log"))
            output = self.log_file.open("ab")
            self._log_start = output.tell()
        try:
            self._process = subprocess.Popen(
                list(self.command),
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - no threads here
            )
        finally:
            if output is not None:
                output.close()
        self._started_at = time.monotonic()
        log.info("started", child=self.name, pid=self._process.pid)

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def tend(self) -> None:
        """Start the process again if it ended and its back-off is over."""
        if self._process is None or self._process.poll() is None:
            return
        now = time.monotonic()
        if self._next_start_at == 0.0:
            if now - self._started_at > HEALTHY_AFTER_S:
                self._backoff_s = 1.0
            self._next_start_at = now + self._backoff_s
            log.warning("child ended", child=self.name, status=self._process.returncode, restart_in_s=self._backoff_s)
            self._backoff_s = min(self._backoff_s * 2, BACKOFF_MAX_S)
            _signal_group(self._process.pid, signal.SIGKILL)  # what it left behind
            if self.ended is not None:
                self.ended(self._process.returncode, self._log_start)
        elif now >= self._next_start_at:
            self._next_start_at = 0.0
            self.restarts += 1
            self.start()

    def kill(self) -> None:
        """End the process at once; `tend` will start it again."""
        if self.pid is not None:
            _signal_group(self.pid, signal.SIGKILL)

    def stop(self) -> None:
        """End the process and all that it started, gently first."""
        if self._process is None:
            return
        _signal_group(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(self.stop_timeout_s)
        except subprocess.TimeoutExpired:
            log.warning("child did not end in time", child=self.name)
        _signal_group(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
