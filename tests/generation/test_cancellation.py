"""Whoever leaves stops the work at once, from any thread, whatever the work waits for."""

import socket
import threading
import time

import pytest

from generation.answer import Sampling
from generation.cancellation import CancellableIterator, Cancelled, current_cancellation
from generation.engine import GenerationRequest, Message
from generation.pool import VllmEngine

WAIT_S = 3.0


def test_closing_ends_a_generator_that_waits_in_another_thread() -> None:
    woken, ended = threading.Event(), threading.Event()

    def work():
        try:
            with current_cancellation().wakes(woken.set):
                yield 1
                woken.wait(WAIT_S)
                current_cancellation().check()
                yield 2
        finally:
            ended.set()

    items = CancellableIterator(work())
    assert next(items) == 1
    rest: list[int] = []
    reader = threading.Thread(target=lambda: rest.extend(items))
    reader.start()
    time.sleep(0.05)
    began = time.monotonic()
    items.close()
    reader.join(WAIT_S)
    assert time.monotonic() - began < 1
    assert rest == []
    assert ended.is_set()


def test_nothing_comes_and_nothing_begins_after_closing() -> None:
    begun = []

    def work():
        begun.append(True)
        yield 1

    items = CancellableIterator(work())
    items.close()
    assert list(items) == []
    assert begun == []


def test_what_was_cancelled_before_it_waits_never_waits() -> None:
    def work():
        yield 1
        current_cancellation().cancel()
        with current_cancellation().wakes(lambda: None):
            yield 2

    assert list(CancellableIterator(work())) == [1]
    gone = current_cancellation()
    gone.cancel()
    with pytest.raises(Cancelled):
        gone.check()


def test_an_iterator_that_ended_by_itself_may_be_closed() -> None:
    items = CancellableIterator(iter_of(1, 2))
    assert list(items) == [1, 2]
    items.close()


def iter_of(*values: int):
    yield from values


class FakeSilentServer:
    """Takes a chat as vLLM does, sends the headers of a stream, and then nothing: a request that waits in the queue."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.streaming, self.left = threading.Event(), threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        models = b'{"data": [{"id": "fake-silent", "max_model_len": 4096}]}'
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                if b"/v1/models" in connection.recv(65536):
                    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(models)}\r\nconnection: close\r\n\r\n"
                    connection.sendall(head.encode() + models)
                    continue
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                )
                self.streaming.set()
                connection.settimeout(WAIT_S)
                while connection.recv(65536):
                    continue  # the request's body
                self.left.set()

    def close(self) -> None:
        self._listener.close()


def test_a_request_that_waits_in_the_engine_is_broken_off_at_once() -> None:
    server = FakeSilentServer()
    engine = VllmEngine([server.url])
    request = GenerationRequest((Message("user", "hello"),), Sampling(), 8)
    items = CancellableIterator(token for token in engine.stream_chat(request))
    reader = threading.Thread(target=lambda: list(items))
    reader.start()
    try:
        assert server.streaming.wait(30)
        time.sleep(0.05)
        began = time.monotonic()
        items.close()
        assert server.left.wait(1)
        reader.join(WAIT_S)
        assert not reader.is_alive()
        assert time.monotonic() - began < 1
    finally:
        engine.close()
        server.close()
