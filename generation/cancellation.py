"""Lets whoever reads an answer stop the making of it at once, from any thread, whatever it waits for.

The making runs in a context of its own that knows its `Cancellation`. What blocks there on the network says how to be
woken (`Cancellation.wakes`); cancelling wakes it, and closing its connection is what makes vLLM abort the request,
whether it is still queued, read or written.
"""

import contextvars
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")
_current: "contextvars.ContextVar[Cancellation | None]" = contextvars.ContextVar("folio_cancellation", default=None)


class Cancelled(Exception):
    """Nobody wants the answer any more: a way out of the work, never shown to anybody."""


class Cancellation:
    """Whether the work of a context is still wanted."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._wakers: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop the work; safe from any thread, and more than once."""
        with self._lock:
            self._cancelled.set()
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    def check(self) -> None:
        """Raise `Cancelled` if the work is no longer wanted."""
        if self.is_cancelled:
            raise Cancelled

    @contextmanager
    def wakes(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` when cancelled while the block runs.

        Raises:
            Cancelled: it already is.
        """
        with self._lock:
            self.check()
            self._wakers.append(wake)
        try:
            yield
        finally:
            with self._lock:
                if wake in self._wakers:
                    self._wakers.remove(wake)


def current_cancellation() -> Cancellation:
    """That of the work which this code is part of; one that nobody cancels, outside of any."""
    return _current.get() or Cancellation()


class CancellableIterator(Generic[T]):
    """An iterator whose `close` may be called from any thread, also while another one waits in `__next__`.

    A plain generator would answer "generator already executing" there. `__next__` then ends with `StopIteration`.

    Args:
        items: a generator, run in a copy of the caller's context, so that log lines and spans keep their places.
    """

    def __init__(self, items: Generator[T, None, None]) -> None:
        self._items = items
        self._cancellation = Cancellation()
        self._context = contextvars.copy_context()
        self._context.run(_current.set, self._cancellation)
        self._running = threading.Lock()
        self._ended = False

    def __iter__(self) -> "CancellableIterator[T]":
        return self

    def __next__(self) -> T:
        with self._running:
            if self._ended or self._cancellation.is_cancelled:
                return self._end()
            try:
                item = self._context.run(next, self._items)
            except Cancelled:
                return self._end()
            except BaseException:
                self._ended = True
                raise
            return self._end() if self._cancellation.is_cancelled else item

    def close(self) -> None:
        """End the work; a thread that waits in `__next__` is woken, and ends what was begun there."""
        self._cancellation.cancel()
        if self._running.acquire(blocking=False):
            try:
                self._finish()
            finally:
                self._running.release()

    def _end(self) -> T:
        self._finish()
        raise StopIteration

    def _finish(self) -> None:
        if not self._ended:
            self._ended = True
            self._context.run(self._items.close)
