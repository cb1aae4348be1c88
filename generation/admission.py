"""Who may start an answer now: nobody waits in a queue that can't be served in time.

The engine's own figures decide (requests waiting, KV cache in use), and each key has a limit of its own.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from folio import metrics
from folio.errors import EngineNotReady, TooManyRequests
from generation.engine import Engine, EngineHealth

FRESH_S = 1.0  # figures younger than this are used again
KV_CACHE_FULL = 0.97
RETRY_NOT_READY_S = 5
SECONDS_A_REQUEST = 4  # a rough turn of the queue, for Retry-After


class Admission:
    """Admits requests to the engine.

    Args:
        max_waiting: requests waiting in the engine beyond which new ones are turned away.
        per_owner: answers that one key may have in the making; 0 means no limit.
    """

    def __init__(self, engine: Engine, *, max_waiting: int, per_owner: int) -> None:
        self._engine = engine
        self._max_waiting = max_waiting
        self._per_owner = per_owner
        self._making: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._health: EngineHealth | None = None
        self._looked_at = 0.0

    @contextmanager
    def admit(self, owner: str) -> Iterator[None]:
        """Hold a place while an answer is made.

        Raises:
            EngineNotReady: the engine can't answer now.
            TooManyRequests: the queue is full, or the owner has enough answers in the making.
        """
        self._check(self._figures())
        with self._lock:
            if self._per_owner and owner and self._making[owner] >= self._per_owner:
                raise TooManyRequests(
                    f"This key has {self._per_owner} answers in the making, its limit. Wait for one to finish.",
                    retry_after_s=SECONDS_A_REQUEST,
                )
            self._making[owner] += 1
        try:
            yield
        finally:
            with self._lock:
                self._making[owner] -= 1

    def _figures(self) -> EngineHealth:
        with self._lock:
            if self._health is None or not self._health.ready or time.monotonic() - self._looked_at > FRESH_S:
                self._health, self._looked_at = self._engine.health(), time.monotonic()
                metrics.ENGINE_READY.set(self._health.ready)
                metrics.ENGINE_RUNNING.set(self._health.running or 0)
                metrics.ENGINE_WAITING.set(self._health.waiting or 0)
                metrics.ENGINE_KV_CACHE_USAGE.set(self._health.kv_cache_usage or 0)
            return self._health

    def _check(self, health: EngineHealth) -> None:
        if not health.ready:
            raise EngineNotReady(
                health.detail or "The language model is not ready yet.", retry_after_s=RETRY_NOT_READY_S
            )
        waiting = health.waiting or 0
        full = waiting > 0 and (health.kv_cache_usage or 0.0) > KV_CACHE_FULL
        if waiting >= self._max_waiting or full:
            turns = waiting // max(health.running or 1, 1) + 1
            raise TooManyRequests(
                f"The language model has {waiting} requests waiting; ask again shortly.",
                retry_after_s=turns * SECONDS_A_REQUEST,
            )
