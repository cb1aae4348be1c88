"""Keeps the engine that `folio serve` starts: ends it when it is wedged, and lets everybody know why it is down."""

import threading

from folio.log import get_logger
from folio.settings import Settings
from folio.supervision import Child
from generation.vllm_log import why_it_ended
from generation.vllm_server import ServerCommand, announce_engine
from generation.vllm_watch import WedgeDetector

LOOK_EVERY_S = 5.0
AGAIN = "It is being started again."

log = get_logger(__name__)


class EngineKeeper:
    """Watches one engine; `child` starts it again when it has ended."""

    def __init__(self, settings: Settings, command: ServerCommand) -> None:
        self._settings = settings
        self._url = command.url
        log_file = settings.data_dir / "logs" / "engine.log"
        self.child = Child("engine", command.arguments, command.environment, log_file, ended=self._ended)
        self._detector = WedgeDetector(
            command.url,
            settings.model,
            idle_timeout_s=settings.engine_idle_timeout_s,
            start_timeout_s=settings.engine_start_timeout_s,
            api_key=settings.engine_api_key.get_secret_value(),
        )
        self._problem = ""
        self._wedged = ""

    def watch(self, stop: threading.Event) -> None:
        """Look every few seconds until `stop`; in a thread of its own, because a look may hang with the engine."""
        while not stop.wait(LOOK_EVERY_S):
            self.look()
        self._detector.close()

    def look(self) -> None:
        """Look once; end the engine if it is wedged."""
        wrong = self._detector.look(self.child.pid)
        if wrong:
            self._wedged = wrong
            self.child.kill()
        elif self._problem and self._detector.was_ready:
            self._tell("")

    def _ended(self, status: int, log_start: int) -> None:
        assert self.child.log_file is not None
        reason, self._wedged = self._wedged or why_it_ended(self.child.log_file, status, log_start), ""
        self._tell(f"{reason} {AGAIN}")

    def _tell(self, problem: str) -> None:
        if problem and problem != self._problem:
            log.warning("engine down", reason=problem)
        self._problem = problem
        announce_engine(self._settings, self._url, problem)
