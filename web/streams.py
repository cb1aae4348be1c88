"""Answers in the making: one thread draws each from the engine into a buffer, and readers follow the buffer.

So a silent engine can't stop heartbeats, and a reader whose connection broke can come back and go on where it was.
When the last reader is gone for longer than `grace_s`, the generation is closed, which aborts it in the engine.
"""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing

from folio.errors import FolioError, NotFound, TooManyRequests
from folio.log import get_logger
from generation.events import Event, Failed

log = get_logger(__name__)
MAX_EVENTS = 50_000  # several times the longest answer; a run-away generation stops there
KEPT_FINISHED_S = 120.0
HEARTBEAT_S = 10.0


class AnswerStream:
    """One answer being made. `owner` is the key that asked; event numbers start at 1."""

    def __init__(self, events: Iterator[Event], owner: str, grace_s: float) -> None:
        self.id = secrets.token_hex(16)
        self.owner = owner
        self.finished_at: float | None = None
        self._source = events
        self._grace_s = grace_s
        self._events: list[Event] = []
        self._changed = threading.Condition()
        self._readers = 0
        self._left_at = time.monotonic()
        self._stop = False

    def first(self) -> Event:
        """The first event, drawn in the caller's thread, so that its error can still become a proper status."""
        event = next(self._source, None)
        if event is None:
            raise FolioError("The answer ended before it began.")
        self._events.append(event)
        return event

    def draw(self) -> None:
        """Draw the rest into the buffer until the end, a failure, `stop()`, or nobody reads any more."""
        try:
            with closing(self._source):  # type: ignore[type-var]
                for event in self._source:
                    self._append(event)
                    if self._abandoned() or len(self._events) >= MAX_EVENTS:
                        break
        except Exception as exc:  # a reader must never wait for a thread that died
            log.error("an answer's stream broke", exc_info=exc)
            self._append(Failed(FolioError("The answer could not be finished. The server's log has the details.")))
        with self._changed:
            self.finished_at = time.monotonic()
            self._changed.notify_all()

    def follow(self, after: int = 0) -> Iterator[list[tuple[int, Event]]]:
        """Batches of numbered events after number `after`; an empty batch is a heartbeat. Ends with the answer."""
        while True:
            batch, finished = self._next(after)
            after += len(batch)
            if batch or not finished:
                yield batch
            if finished and not batch:
                return

    def attach(self) -> None:
        """A reader has come; pair it with `detach()`."""
        with self._changed:
            self._readers += 1

    def detach(self) -> None:
        """A reader has gone."""
        with self._changed:
            self._readers -= 1
            self._left_at = time.monotonic()

    def stop(self) -> None:
        """Abort the generation at its next token."""
        with self._changed:
            self._stop = True

    def _append(self, event: Event) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def _next(self, after: int) -> tuple[list[tuple[int, Event]], bool]:
        with self._changed:
            if len(self._events) <= after and self.finished_at is None:
                self._changed.wait(HEARTBEAT_S)
            batch = list(enumerate(self._events[after:], start=after + 1))
            return batch, self.finished_at is not None

    def _abandoned(self) -> bool:
        with self._changed:
            gone = self._readers == 0 and time.monotonic() - self._left_at > self._grace_s
            return self._stop or gone


class AnswerStreams:
    """All answers in the making, and for a while the finished ones, so that a broken connection can be resumed.

    Args:
        permits: answers made at the same time, streamed or not; more are turned away at once instead of queueing.
        grace_s: seconds a generation goes on without a reader.
    """

    def __init__(self, permits: int, grace_s: float) -> None:
        self._permits = threading.BoundedSemaphore(permits)
        self._grace_s = grace_s
        self._streams: OrderedDict[str, AnswerStream] = OrderedDict()
        self._lock = threading.Lock()

    def admit(self) -> "Permit":
        """A permit to make one answer.

        Raises:
            TooManyRequests: all are taken.
        """
        if not self._permits.acquire(blocking=False):
            raise TooManyRequests("As many answers as this server makes at once are being made.", retry_after_s=5)
        return Permit(self._permits)

    def open(self, events: Iterator[Event], owner: str, permit: "Permit") -> AnswerStream:
        """Start drawing an answer; the permit is given back when it ends.

        Raises:
            FolioError: whatever the first step of the answer raised or reported.
        """
        stream = AnswerStream(events, owner, self._grace_s)
        try:
            first = stream.first()
        except BaseException:
            permit.release()
            raise
        if isinstance(first, Failed):
            permit.release()
            raise first.error
        self._keep(stream)
        threading.Thread(target=self._draw, args=(stream, permit), name=f"answer-{stream.id[:8]}", daemon=True).start()
        return stream

    def get(self, stream_id: str) -> AnswerStream:
        """A stream by its id, whoever asked for it.

        Raises:
            NotFound: it never was, or ended too long ago.
        """
        with self._lock:
            stream = self._streams.get(stream_id)
        if stream is None:
            raise NotFound("This answer's stream has ended and is no longer kept. Ask again.")
        return stream

    def _keep(self, stream: AnswerStream) -> None:
        now = time.monotonic()
        with self._lock:
            stale = [key for key, s in self._streams.items() if s.finished_at and now - s.finished_at > KEPT_FINISHED_S]
            for key in stale:
                del self._streams[key]
            self._streams[stream.id] = stream

    def _draw(self, stream: AnswerStream, permit: "Permit") -> None:
        try:
            stream.draw()
        finally:
            permit.release()


class Permit:
    """The right to make one answer; release it exactly once, or use it as a context manager."""

    def __init__(self, semaphore: threading.BoundedSemaphore) -> None:
        self._semaphore = semaphore

    def release(self) -> None:
        """Give it back."""
        self._semaphore.release()

    def __enter__(self) -> "Permit":
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()
