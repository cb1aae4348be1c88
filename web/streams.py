"""Answers in the making: one thread draws each from the engine into a buffer, and readers follow the buffer.

So a silent engine can't stop heartbeats, and a reader whose connection broke can come back and go on where it was.
When the last reader is gone for longer than `grace_s`, the generation is closed, which aborts it in the engine.
"""

import contextlib
import contextvars
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator

from folio.errors import FolioError, StreamGone, TooManyRequests, Unavailable
from folio.log import get_logger
from generation.answer import Answer
from generation.events import Done, Event, Failed

log = get_logger(__name__)
MAX_EVENTS = 50_000  # several times the longest answer; a run-away generation stops there
MAX_READERS = 8
KEPT_FINISHED_S = 120.0
HEARTBEAT_S = 10.0
FIRST_EVENT_S = 5.0  # how long a stream may keep back its status, so that an early failure can still become one
LOOK_S = 0.5  # how often a plain request looks whether its client is still there


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

    def draw(self) -> None:
        """Draw everything into the buffer until the end, a failure, `stop()`, or nobody reads any more."""
        try:
            for event in self._source:
                self._append(event)
                if self._stop or len(self._events) >= MAX_EVENTS:
                    break
        except FolioError as exc:
            self._append(Failed(exc))
        except Exception as exc:  # a reader must never wait for a thread that died
            log.error("an answer's stream broke", exc_info=exc)
            self._append(Failed(FolioError("The answer could not be finished. The server's log has the details.")))
        finally:
            self._close_source()
            with self._changed:
                self.finished_at = time.monotonic()
                self._changed.notify_all()

    def begin(self) -> None:
        """Wait for the first event, or for so long that the reply has to begin without it.

        Raises:
            FolioError: the answer failed before it began.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._events or self.finished_at is not None, FIRST_EVENT_S)
            if self._events and isinstance(self._events[0], Failed):
                raise self._events[0].error

    def answer(self, has_left: Callable[[], bool]) -> Answer:
        """Wait for the whole answer; stop it as soon as `has_left()` says that nobody waits for it.

        Raises:
            FolioError: why there is none.
        """
        for batch in self.follow(every_s=LOOK_S):
            for _, event in batch:
                if isinstance(event, Done):
                    return event.answer
                if isinstance(event, Failed):
                    raise event.error
            if has_left():
                self.stop()
                raise Unavailable("The client left before the answer was done.")
        raise FolioError("The answer ended before it was done.")

    def follow(self, after: int = 0, every_s: float | None = None) -> Iterator[list[tuple[int, Event]]]:
        """Batches of numbered events after number `after`; an empty batch is a heartbeat. Ends with the answer."""
        while True:
            batch, finished = self._next(after, HEARTBEAT_S if every_s is None else every_s)
            after += len(batch)
            if batch or not finished:
                yield batch
            if finished and not batch:
                return

    def attach(self) -> None:
        """A reader has come; pair it with `detach()`.

        Raises:
            TooManyRequests: each reader holds a thread, and these are enough for one answer.
        """
        with self._changed:
            if self._readers >= MAX_READERS:
                raise TooManyRequests(f"This answer already has {MAX_READERS} readers.", retry_after_s=10)
            self._readers += 1

    def detach(self) -> None:
        """A reader has gone; if it was the last, and none comes back in time, the generation stops."""
        with self._changed:
            self._readers -= 1
            self._left_at = time.monotonic()
            watch = self._readers == 0 and self.finished_at is None
        if watch:
            timer = threading.Timer(self._grace_s, self._stop_if_abandoned)
            timer.daemon = True
            timer.start()

    def stop(self) -> None:
        """Abort the generation: at once where its source can be closed from any thread, else at its next token."""
        with self._changed:
            self._stop = True
        self._close_source()

    def _stop_if_abandoned(self) -> None:
        with self._changed:
            abandoned = self._readers == 0 and time.monotonic() - self._left_at >= self._grace_s
        if abandoned:
            self.stop()

    def _close_source(self) -> None:
        close = getattr(self._source, "close", None)
        with contextlib.suppress(ValueError):  # a plain generator that another thread is drawing from
            if close is not None:
                close()

    def _append(self, event: Event) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def _next(self, after: int, patience_s: float) -> tuple[list[tuple[int, Event]], bool]:
        with self._changed:
            if len(self._events) <= after and self.finished_at is None:
                self._changed.wait(patience_s)
            batch = list(enumerate(self._events[after:], start=after + 1))
            return batch, self.finished_at is not None


class AnswerStreams:
    """All answers in the making, and for a while the finished ones, so that a broken connection can be resumed.

    They are in the memory of this process, which is why Folio's server is one process with many threads.

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
        """Start an answer that readers follow; the permit is given back when it ends.

        Raises:
            FolioError: the answer failed before its first event.
        """
        stream = self._start(events, owner, permit)
        self._keep(stream)
        stream.begin()
        return stream

    def whole(self, events: Iterator[Event], owner: str, permit: "Permit", has_left: Callable[[], bool]) -> Answer:
        """Make an answer and wait for it; it is stopped when `has_left()` says that its client has gone.

        Raises:
            FolioError: why there is none.
        """
        return self._start(events, owner, permit).answer(has_left)

    def get(self, stream_id: str) -> AnswerStream:
        """A stream by its id, whoever asked for it.

        Raises:
            StreamGone: it never was, ended too long ago, or is another server's.
        """
        with self._lock:
            stream = self._streams.get(stream_id)
        if stream is None:
            raise gone()
        return stream

    def _start(self, events: Iterator[Event], owner: str, permit: "Permit") -> AnswerStream:
        stream = AnswerStream(events, owner, self._grace_s)
        context = contextvars.copy_context()  # so that log lines keep the request's id
        name = f"answer-{stream.id[:8]}"
        threading.Thread(target=context.run, args=(_draw, stream, permit), name=name, daemon=True).start()
        return stream

    def _keep(self, stream: AnswerStream) -> None:
        now = time.monotonic()
        with self._lock:
            stale = [key for key, s in self._streams.items() if s.finished_at and now - s.finished_at > KEPT_FINISHED_S]
            for key in stale:
                del self._streams[key]
            self._streams[stream.id] = stream


def gone() -> StreamGone:
    """The same error for a stream that never was, is over, is another server's, or is somebody else's."""
    return StreamGone("This answer's stream is not kept here any more, or never was. Ask the question again.")


def _draw(stream: AnswerStream, permit: "Permit") -> None:
    with permit:
        stream.draw()


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
