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


def start(engine: VllmEngine, text: str, count: int) -> list[CancellableIterator]:
    made = []
    for number in range(count):
        message = Message("user", f"{time.time_ns()} {number} {text}")
        tokens = engine.stream_chat(GenerationRequest((message,), Sampling(), 400))
        made.append(CancellableIterator(token for token in tokens))
        threading.Thread(target=lambda items=made[-1]: list(items), daemon=True).start()
    return made


def wait_for(condition: Callable[[], bool], timeout_s: float) -> float:
    """Seconds until the condition held."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < timeout_s, "it never held"
        time.sleep(0.02)
    return time.monotonic() - began


# A step of the engine can't be broken off; one that reads a prompt takes most of a second on two cores.
@pytest.mark.parametrize(("text", "limit_s"), [(COUNTING, 1.0), (LONG, 2.0)], ids=["writing", "reading"])
def test_a_reader_who_leaves_frees_the_engine_at_once(engine, requests_in_engine, text, limit_s) -> None:
    wait_for(lambda: requests_in_engine() == 0, 120)
    [stream] = start(engine, text, 1)
    wait_for(lambda: requests_in_engine() == 1, 60)
    time.sleep(0.5)
    assert requests_in_engine() == 1
    stream.close()
    assert wait_for(lambda: requests_in_engine() == 0, 30) < limit_s


def test_readers_who_leave_while_they_wait_in_the_engines_queue_free_their_places(engine, requests_in_engine) -> None:
    wait_for(lambda: requests_in_engine() == 0, 120)
    streams = start(engine, COUNTING, 14)
    wait_for(lambda: requests_in_engine() == 14, 60)
    for stream in streams[10:]:
        stream.close()
    assert wait_for(lambda: requests_in_engine() <= 10, 30) < 2.0
    for stream in streams:
        stream.close()
    assert wait_for(lambda: requests_in_engine() == 0, 30) < 3.0
