"""How much may be in memory at once: many small files, or one large one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ByteBudget:
    """Lets blocks run together while their sizes fit into `limit_bytes`; one that is larger runs alone."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._taken = 0
        self._changed = threading.Condition()

    @contextmanager
    def hold(self, size_bytes: int) -> Iterator[None]:
        """Wait until `size_bytes` fit, and hold them while the block runs."""
        size = min(size_bytes, self._limit)
        with self._changed:
            self._changed.wait_for(lambda: self._taken + size <= self._limit)
            self._taken += size
        try:
            yield
        finally:
            with self._changed:
                self._taken -= size
                self._changed.notify_all()
