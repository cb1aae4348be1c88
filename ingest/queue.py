"""The queue that carries items to workers: huey, on SQLite inside the data folder or on Redis by URL.

The queue only wakes workers. What has to be done stands in the catalog (`ingest_items`), so a lost or repeated message
loses and repeats no work.
"""

from collections.abc import Callable
from typing import Any

from huey import RedisHuey, SqliteHuey
from huey.api import Huey
from huey.consumer import Consumer
from redis.exceptions import RedisError

from folio.errors import ConfigurationError
from folio.log import get_logger
from folio.settings import Settings

TASK = "folio-ingest-item"

log = get_logger(__name__)


class ItemQueue:
    """Item ids, on their way to whichever worker is free.

    While Redis can't be reached, which is said in the log, nothing is lost: workers find what waits in the catalog, and
    send it anew when it is back.

    Raises:
        ConfigurationError: FOLIO_QUEUE_URL can't be understood.
    """

    def __init__(self, settings: Settings) -> None:
        self._huey: Huey
        if settings.queue_url:
            try:
                self._huey = RedisHuey("folio", url=settings.queue_url, results=False)
            except ValueError as exc:
                raise ConfigurationError(
                    "FOLIO_QUEUE_URL can't be used: give a Redis URL such as redis://:password@host:6379/0."
                ) from exc
        else:
            settings.data_dir.mkdir(parents=True, exist_ok=True)
            self._huey = SqliteHuey("folio", filename=str(settings.data_dir / "queue.db"), results=False)
        self._handler: Callable[[str], None] = _nobody
        self._task = self._huey.task(name=TASK)(self._handle)

    def put(self, item_ids: list[str]) -> None:
        """Wake a worker for each item."""
        try:
            for item_id in item_ids:
                self._task(item_id)
        except RedisError as exc:
            log.warning("the queue can't be reached; items wait in the catalog", items=len(item_ids), error=str(exc))

    @property
    def is_empty(self) -> bool:
        """Whether no message is on its way, as far as can be told."""
        try:
            return int(self._huey.pending_count()) == 0
        except RedisError:
            return True  # putting what waits will say so

    def close(self) -> None:
        """Close its connections; the next use opens them again."""
        if isinstance(self._huey, RedisHuey):
            self._huey.storage.conn.connection_pool.disconnect()
        else:
            self._huey.storage.close()

    def consumer(self, handler: Callable[[str], None], *, workers: int) -> "ItemConsumer":
        """A consumer, not yet started, that calls `handler` with each item id in one of `workers` threads."""
        self._handler = handler
        return ItemConsumer(
            self._huey, workers=workers, periodic=False, worker_type="thread", initial_delay=0.05, max_delay=0.5
        )

    def _handle(self, item_id: str) -> None:
        self._handler(item_id)


class ItemConsumer(Consumer):  # type: ignore[misc]
    """huey's consumer without its signal handlers: the process that runs it has its own."""

    def _set_signal_handlers(self) -> None:
        return


def _nobody(item_id: str) -> Any:
    raise RuntimeError(f"No worker handles item {item_id} in this process.")
