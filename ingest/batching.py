"""Embeds texts of many documents together: whoever waits for vectors shares batches of like length with all others.

Each document keeps its own thread, lease and failure. A text that several documents wait for is embedded once.
"""

import threading
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from folio.log import get_logger
from retrieval.embedder import Embedder, texts_at_once

REPORT_S = 0.5  # how often a waiting document looks whether it was cancelled
LONGER = 1.25  # texts up to this much longer than a batch's first choice fill it up

log = get_logger(__name__)


@dataclass(eq=False)
class _Request:
    """One document's texts. `left` are the keys still without a vector, `by_size` those not yet known to be taken."""

    left: set[str]
    by_size: list[tuple[int, str]] = field(default_factory=list)
    vectors: dict[str, bytes] = field(default_factory=dict)
    error: Exception | None = None
    changed: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class _Text:
    """A text to embed and all who wait for it."""

    key: str
    text: str
    size: int
    requests: list[_Request]


class EmbeddingPool:
    """Threads that take batches from the texts of every document that waits.

    Args:
        batch_size: texts of usual length embedded at once.
    """

    def __init__(self, embedder: Embedder, batch_size: int) -> None:
        self._embedder = embedder
        self._batch_size = batch_size
        self._more = threading.Condition()
        self._texts: dict[str, _Text] = {}
        self._by_size: list[tuple[int, str]] = []
        self._turns: deque[_Request] = deque()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def embed(self, texts: Mapping[str, str], progress: Callable[[int], None]) -> dict[str, bytes]:
        """Vectors of `texts`, by their keys, as float16 bytes. Waits its turn.

        Args:
            texts: by a key that is the same for equal texts.
            progress: called with the number that have their vector, at least twice a second; what it raises ends this
                request and nobody else's.
        """
        request = _Request(set(texts))
        self._add(request, texts)
        try:
            while request.left and request.error is None:
                request.changed.wait(REPORT_S)
                request.changed.clear()
                progress(len(texts) - len(request.left))
        finally:
            self._withdraw(request)
        if request.error is not None:
            raise request.error
        return request.vectors

    def close(self) -> None:
        """End the threads once nothing waits; the next request starts new ones."""
        with self._more:
            self._closed = True
            self._more.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads, self._closed = [], False

    def _add(self, request: _Request, texts: Mapping[str, str]) -> None:
        with self._more:
            for key, text in texts.items():
                entry = self._texts.get(key)
                if entry is None:
                    entry = self._texts[key] = _Text(key, text, len(text.encode("utf-8", "surrogatepass")), [])
                    insort(self._by_size, (entry.size, key))
                entry.requests.append(request)
                request.by_size.append((entry.size, key))
            request.by_size.sort()
            self._turns.append(request)
            if not self._threads:
                self._threads = [
                    threading.Thread(target=self._run, name=f"embedding-batches-{number}", daemon=True)
                    for number in range(self._embedder.streams)
                ]
                for thread in self._threads:
                    thread.start()
            self._more.notify_all()

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            self._give(batch, self._embedded(batch))

    def _next(self) -> list[_Text] | None:
        """The longest text of the document whose turn it is, and those of all documents nearest to it in length."""
        with self._more:
            while not self._by_size:
                if self._closed:
                    return None
                self._more.wait()
            anchor = self._anchor()
            end = bisect_right(self._by_size, anchor)
            room = texts_at_once(self._batch_size, anchor[0])
            start = max(0, end - room)
            limit = max(int(anchor[0] * LONGER), anchor[0] + 1)
            end = min(start + room, max(end, bisect_left(self._by_size, (limit, ""))))
            taken = self._by_size[start:end]
            del self._by_size[start:end]
            return [self._texts[key] for _, key in taken]

    def _anchor(self) -> tuple[int, str]:
        while self._turns:
            request = self._turns.popleft()
            while request.by_size and not self._waits(request.by_size[-1]):
                request.by_size.pop()
            if request.by_size:
                self._turns.append(request)
                return request.by_size[-1]
        return self._by_size[-1]

    def _waits(self, entry: tuple[int, str]) -> bool:
        place = bisect_left(self._by_size, entry)
        return place < len(self._by_size) and self._by_size[place] == entry

    def _embedded(self, batch: list[_Text]) -> list[bytes | Exception]:
        try:
            vectors = self._embedder.embed_documents([entry.text for entry in batch])
            return [np.asarray(row, "<f2").tobytes() for row in vectors]
        except Exception as exc:
            if len(batch) == 1:
                return [exc]
            log.warning("a batch could not be embedded; its texts are tried one by one", error=type(exc).__name__)
            return [result for entry in batch for result in self._embedded([entry])]

    def _give(self, batch: list[_Text], results: list[bytes | Exception]) -> None:
        with self._more:
            for entry, result in zip(batch, results, strict=True):
                del self._texts[entry.key]
                for request in entry.requests:
                    request.left.discard(entry.key)
                    if isinstance(result, Exception):
                        request.error = result
                    else:
                        request.vectors[entry.key] = result
                    request.changed.set()

    def _withdraw(self, request: _Request) -> None:
        with self._more:
            for key in request.left:
                entry = self._texts.get(key)
                if entry is None or request not in entry.requests:
                    continue
                entry.requests.remove(request)
                if not entry.requests and self._waits((entry.size, key)):
                    self._by_size.remove((entry.size, key))
                    del self._texts[key]
