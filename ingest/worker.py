"""The ingest worker: takes items from the queue until it is told to stop, and publishes index generations.

It runs in a process of its own, never in the web server's. Many threads each bring one item to its end, most of them
waiting for vectors, so that batches are filled from many documents while others are read.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from filelock import FileLock, Timeout

from folio.catalog import Catalog
from folio.log import get_logger
from folio.settings import Settings
from ingest.lease import Leases
from ingest.processing import ItemProcessor
from ingest.queue import ItemQueue
from retrieval.embedder import Embedder
from retrieval.generations import Generations

AT_ONCE = 24  # documents between their taking and their commit; enough short ones to fill the batches of two streams
FEEDERS = 2  # threads that listen to the queue
SWEEP_S = 2.0
LOOK_S = 0.1
FOLLOW_S = 60.0  # between two looks for what other machines changed
PUBLISH_EVERY = 2000  # items between two generations while a long job runs

log = get_logger(__name__)


class Worker:
    """Processes items.

    Args:
        generations: told when a collection changed and the worker has time to publish.
    """

    def __init__(self, catalog: Catalog, embedder: Embedder, generations: Generations, settings: Settings) -> None:
        self._settings = settings
        self._generations = generations
        self._queue = ItemQueue(settings)
        name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._leases = Leases(catalog, name, lease_s=settings.lease_s, attempts=settings.item_attempts)
        self._processor = ItemProcessor(catalog, embedder, settings, self._leases)
        self._changed: dict[str, int] = {}
        self._next_look = 0.0
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._at_work = 0
        self._ran_out = threading.Event()

    def run(self, stop: threading.Event, *, finished: Callable[[], bool] = lambda: False) -> None:
        """Work until `stop` is set or `finished` says so."""
        self._follow()  # before anything else: one that is stopped at once still publishes what a dead one left
        items = ThreadPoolExecutor(AT_ONCE, "item")
        consumer = self._queue.consumer(lambda item_id: self._hand_over(items, item_id), workers=FEEDERS)
        consumer.start()
        try:
            while not stop.is_set() and not finished():
                waiting = self._leases.reclaim()
                # A message may be lost with a worker or used up by a failed try: once none is left, all are sent anew.
                if self._queue.is_empty:
                    self._queue.put(waiting)
                if not waiting and not self._at_work:
                    self._follow()
                self._publish(everything=not waiting and not self._at_work)
                self._rest(stop)
        finally:
            consumer.stop(graceful=True)
            items.shutdown()
            self._processor.close()
            self._publish(everything=True)
            self._queue.close()

    def _follow(self) -> None:
        """Now and then have this disk's indexes take up what others changed: other machines, or a worker that died."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + FOLLOW_S
        behind = dict.fromkeys(self._generations.behind(), 1)
        with self._lock:
            self._changed = behind | self._changed

    def _hand_over(self, items: ThreadPoolExecutor, item_id: str) -> None:
        """Give the item to a thread of its own, once one is free: what is not started stays in the queue."""
        self._free.acquire()
        with self._lock:
            self._at_work += 1
        items.submit(self._handle, item_id).add_done_callback(lambda _: self._handed_back())

    def _handed_back(self) -> None:
        with self._lock:
            self._at_work -= 1
            if not self._at_work:
                self._ran_out.set()
        self._free.release()

    def _rest(self, stop: threading.Event) -> None:
        """Wait until it is time to look again: at once when the last item is done, so that it is published."""
        until = time.monotonic() + SWEEP_S
        while not self._ran_out.is_set() and time.monotonic() < until and not stop.wait(LOOK_S):
            pass
        self._ran_out.clear()

    def _handle(self, item_id: str) -> None:
        try:
            collection_id = self._processor.process(item_id)
        except Exception:  # the catalog can't be reached; the item is free again when its lease ends
            log.exception("an item could not be worked on", item=item_id)
            return
        if collection_id is not None:
            with self._lock:
                self._changed[collection_id] = self._changed.get(collection_id, 0) + 1

    def _publish(self, *, everything: bool) -> None:
        with self._lock:
            due = [key for key, count in self._changed.items() if everything or count >= PUBLISH_EVERY]
            for key in due:
                del self._changed[key]
        for collection_id in due:
            began = time.monotonic()
            generation = self._generations.publish(collection_id)
            if generation is not None:
                log.info(
                    "published",
                    generation=generation.id,
                    chunks=generation.chunks,
                    s=round(time.monotonic() - began, 2),
                )


def worker_lock(settings: Settings) -> FileLock:
    """Held by the worker of a data folder while it runs."""
    path = settings.data_dir / "run" / "worker.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path)


def worker_runs(settings: Settings) -> bool:
    """Whether a worker of this data folder is running on this machine."""
    lock = worker_lock(settings)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    lock.release()
    return False
