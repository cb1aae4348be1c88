"""Who may start an answer now: nobody waits in a queue that can't be served in time.

The engine's own figures decide (requests waiting, KV cache in use), together with the answers admitted since they were
read, so that a burst can't slip in between two looks. Each key has a limit of its own.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from folio.errors import EngineNotReady, TooManyRequests
from generation.engine import Engine, EngineHealth

FRESH_S = 1.0  # figures younger than this are used again
LOOK_AGAIN_S = 0.1  # before anybody is turned away, figures older than this are read anew
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
        self._looking = threading.Lock()
        self._health: EngineHealth | None = None
        self._looked_at = 0.0

    @contextmanager
    def admit(self, owner: str) -> Iterator[None]:
        """Hold a place while an answer is made.

        Raises:
            EngineNotReady: the engine can't answer now.
            TooManyRequests: the queue is full, or the owner has enough answers in the making.
        """
        self._enter(owner, self._figures(FRESH_S))
        try:
            yield
        finally:
            with self._lock:
                self._making[owner] -= 1
                self._making += Counter()  # drops those at zero: keys come and go

    def _enter(self, owner: str, health: EngineHealth) -> None:
        if self._waiting(health) >= self._max_waiting or _cache_is_full(health):
            health = self._figures(LOOK_AGAIN_S)
        if not health.ready:
            raise EngineNotReady(
                health.detail or "The language model is not ready yet.", retry_after_s=RETRY_NOT_READY_S
            )
        with self._lock:
            waiting = self._waiting(health)
            if waiting >= self._max_waiting or _cache_is_full(health):
                turns = waiting // max(health.running or 1, 1) + 1
                raise TooManyRequests(
                    f"The language model has {waiting} requests waiting; ask again shortly.",
                    retry_after_s=turns * SECONDS_A_REQUEST,
                )
            if self._per_owner and owner and self._making[owner] >= self._per_owner:
                raise TooManyRequests(
                    f"This key has {self._per_owner} answers in the making, its limit. Wait for one to finish.",
                    retry_after_s=SECONDS_A_REQUEST,
                )
            self._making[owner] += 1

    def _waiting(self, health: EngineHealth) -> int:
        """Requests that wait: in the engine when it was looked at, or admitted here and not seen to run there."""
        return max(health.waiting or 0, self._making.total() - (health.running or 0))

    def _figures(self, fresh_s: float) -> EngineHealth:
        """The engine's figures; while somebody reads them anew, others go on with what is known."""
        known = self._health
        if known is not None and known.ready and time.monotonic() - self._looked_at <= fresh_s:
            return known
        if not self._looking.acquire(blocking=known is None or not known.ready):
            assert known is not None
            return known
        try:
            if self._health is not known and self._health is not None:
                return self._health  # somebody else has just looked
            began = time.monotonic()
            self._health = self._engine.health()
            self._looked_at = began
            return self._health
        finally:
            self._looking.release()


def _cache_is_full(health: EngineHealth) -> bool:
    return (health.waiting or 0) > 0 and (health.kv_cache_usage or 0.0) > KV_CACHE_FULL
