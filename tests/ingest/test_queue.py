"""The queue brings each item's id to a worker, whichever backend carries it."""

import threading

import pytest

from folio.errors import ConfigurationError
from ingest.queue import ItemQueue


@pytest.fixture(params=["file", "redis"])
def queue_settings(request, settings):
    """Settings of a queue in a file, and of one on a real Redis server of its own."""
    if request.param == "file":
        return settings
    return settings.model_copy(update={"queue_url": request.getfixturevalue("redis_url")})


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


def test_a_redis_that_is_away_loses_nothing_and_is_said(settings, capsys):
    queue = ItemQueue(settings.model_copy(update={"queue_url": "redis://127.0.0.1:1/0"}))
    queue.put(["a"])
    assert "queue can't be reached" in capsys.readouterr().out
    assert queue.is_empty
    queue.close()


def test_a_queue_url_that_cannot_be_understood_says_what_to_give(settings):
    with pytest.raises(ConfigurationError, match="FOLIO_QUEUE_URL"):
        ItemQueue(settings.model_copy(update={"queue_url": "nonsense"}))
