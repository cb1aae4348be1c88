"""Adds up the time that named stages take."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Milliseconds by stage; a stage may be entered more than once."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self.stages_ms: dict[str, float] = defaultdict(float)

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Count the block's time to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.stages_ms[stage] += (time.perf_counter() - started) * 1000

    @property
    def total_ms(self) -> float:
        """Milliseconds since the watch was made."""
        return (time.perf_counter() - self._began) * 1000
