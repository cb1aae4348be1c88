"""With the real starter model behind vLLM: agent mode, and readers who leave."""

import threading
import time
from collections.abc import Callable
from contextlib import closing

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from generation.agent import MAX_STEPS
from generation.answer import AskRequest, Sampling
from generation.cancellation import CancellableIterator
from generation.engine import GenerationRequest, Message
from generation.pool import VllmEngine
from generation.receipts import Receipts

pytestmark = pytest.mark.engine

COUNTING = "Count from 1 to 500, one number on each line, and leave none out."  # the model never ends it early
STEPS = 15  # of the engine; under a second on two cores
LONG = "Ships, harbours, tides and lighthouses. " * 100 + COUNTING


@pytest.fixture(scope="module")
def engine(engine_url: str):
    with closing(VllmEngine([engine_url])) as opened:
        yield opened


@pytest.fixture
def requests_in_engine(engine_url: str) -> Callable[[], int]:
    """Requests that the engine itself says it runs or keeps waiting."""

    def count() -> int:
        page = httpx.get(f"{engine_url}/metrics", timeout=30).text
        wanted = ("vllm:num_requests_running", "vllm:num_requests_waiting")
        samples = [s for family in text_string_to_metric_families(page) for s in family.samples]
        return int(sum(sample.value for sample in samples if sample.name in wanted))

    return count


def test_agent_mode_searches_within_bounds_and_its_trace_is_kept(answerer_over, engine, catalog) -> None:
    question = "Compare what the documents say about tides and about lighthouses."
    began = time.monotonic()
    answer = answerer_over(engine).ask(AskRequest(question=question, mode="agent"))
    steps = Receipts(catalog).get(answer.answer_id).steps
    assert 1 <= len(steps) <= MAX_STEPS
    assert "search" in {step.tool for step in steps}
    assert all(step.result and step.milliseconds <= (time.monotonic() - began) * 1000 for step in steps)


class Reader:
    """Someone who reads a stream in a thread, until he leaves."""

    def __init__(self, engine: VllmEngine, text: str) -> None:
        message = Message("user", f"{time.time_ns()} {text}")
        tokens = engine.stream_chat(GenerationRequest((message,), Sampling(), 400))
        self.stream = CancellableIterator(token for token in tokens)
        self.read = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        for _ in self.stream:
            self.read += 1

    def leave(self) -> None:
        self.stream.close()


def wait_for(condition: Callable[[], bool], timeout_s: float) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < timeout_s, "it never held"
        time.sleep(0.02)


# Freed places are timed by the tokens that another reader gets meanwhile, one for each step of the engine: a slow
# machine changes nothing. A step can't be broken off, and the engine's figures are those of the step before.
@pytest.mark.parametrize("text", [COUNTING, LONG], ids=["writing", "reading"])
def test_a_reader_who_leaves_frees_the_engine_at_once(engine, requests_in_engine, text) -> None:
    wait_for(lambda: requests_in_engine() == 0, 120)
    stays = Reader(engine, COUNTING)
    wait_for(lambda: stays.read > 0, 60)
    leaves = Reader(engine, text)
    wait_for(lambda: requests_in_engine() == 2, 60)
    leaves.leave()
    read = stays.read
    wait_for(lambda: requests_in_engine() == 1, 120)
    assert stays.read - read <= STEPS
    stays.leave()
    wait_for(lambda: requests_in_engine() == 0, 120)


def test_readers_who_leave_while_they_wait_in_the_engines_queue_free_their_places(engine, requests_in_engine) -> None:
    wait_for(lambda: requests_in_engine() == 0, 120)
    readers = [Reader(engine, COUNTING) for _ in range(14)]
    wait_for(lambda: requests_in_engine() == 14, 60)
    for reader in readers[10:]:
        reader.leave()
    read = max(reader.read for reader in readers)
    wait_for(lambda: requests_in_engine() <= 10, 120)
    assert max(reader.read for reader in readers) - read <= STEPS
    for reader in readers:
        reader.leave()
    wait_for(lambda: requests_in_engine() == 0, 120)
