"""The queue brings each item's id to a worker, whichever backend carries it."""

import shutil
import socket
import subprocess
import threading
import time

import pytest

from ingest.queue import ItemQueue


@pytest.fixture(params=["file", "redis"])
def queue_settings(request, settings, tmp_path):
    """Settings of a queue in a file, and of one on a real Redis server of its own."""
    if request.param == "file":
        yield settings
        return
    server = shutil.which("redis-server")
    if server is None:
        pytest.skip("redis-server is not installed (Debian: apt install redis-server)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    ) as process:
        wait_for_port(port)
        yield settings.model_copy(update={"queue_url": f"redis://127.0.0.1:{port}/0"})
        process.terminate()


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_what_one_process_puts_another_one_gets(queue_settings):
    sender, receiver = ItemQueue(queue_settings), ItemQueue(queue_settings)
    got, complete = [], threading.Event()

    def handle(item_id: str) -> None:
        got.append(item_id)
        if len(got) == 3:
            complete.set()

    sender.put(["a", "b", "c"])
    assert not receiver.is_empty
    consumer = receiver.consumer(handle, workers=2)
    consumer.start()
    assert complete.wait(20)
    consumer.stop(graceful=True)
    assert sorted(got) == ["a", "b", "c"]
    assert receiver.is_empty
