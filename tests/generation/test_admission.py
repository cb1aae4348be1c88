"""Nobody is let into a queue that can't be served in time; nobody is turned away from one that can."""

from contextlib import ExitStack

import pytest

from folio.errors import EngineNotReady, TooManyRequests
from generation.admission import Admission
from generation.engine import EngineHealth


class FakeLoadedEngine:
    """Says how busy it is; counts how often it was asked."""

    def __init__(self, running: int = 0, waiting: int = 0, cache: float = 0.0) -> None:
        self.running, self.waiting, self.cache, self.ready = running, waiting, cache, True
        self.asked = 0

    def health(self) -> EngineHealth:
        self.asked += 1
        return EngineHealth(
            self.ready, "ready" if self.ready else "failed", "", "fake", 4096, self.running, self.waiting, self.cache
        )


def admission(engine: FakeLoadedEngine, max_waiting: int = 4, per_owner: int = 0) -> Admission:
    return Admission(engine, max_waiting=max_waiting, per_owner=per_owner)


@pytest.mark.parametrize("engine", [FakeLoadedEngine(8, 4), FakeLoadedEngine(8, 1, cache=0.99)])
def test_a_full_queue_or_cache_turns_away_and_says_when_to_come_back(engine) -> None:
    with pytest.raises(TooManyRequests) as busy, admission(engine).admit("k"):
        pass
    assert busy.value.retry_after_s


def test_a_full_cache_with_nobody_waiting_still_admits() -> None:
    with admission(FakeLoadedEngine(8, 0, cache=0.99)).admit("k"):
        pass


def test_a_burst_between_two_looks_is_bounded() -> None:
    engine = FakeLoadedEngine()
    door = admission(engine)
    with ExitStack() as held:
        for _ in range(4):
            held.enter_context(door.admit("k"))
        with pytest.raises(TooManyRequests), door.admit("k"):
            pass
    assert engine.asked <= 2


def test_those_that_run_do_not_count_as_waiting(monkeypatch) -> None:
    monkeypatch.setattr("generation.admission.LOOK_AGAIN_S", -1.0)
    engine = FakeLoadedEngine()
    door = admission(engine)
    with ExitStack() as held:
        for _ in range(4):
            held.enter_context(door.admit("k"))
        engine.running = 4
        held.enter_context(door.admit("k"))


def test_a_key_has_its_own_limit_and_places_come_back() -> None:
    door = admission(FakeLoadedEngine(running=8), per_owner=1)
    with door.admit("a"):
        with pytest.raises(TooManyRequests, match="limit"), door.admit("a"):
            pass
        with door.admit("b"):
            pass
    with door.admit("a"):
        pass


def test_an_engine_that_is_down_is_said_at_once_and_seen_when_it_is_back() -> None:
    engine = FakeLoadedEngine()
    engine.ready = False
    door = admission(engine)
    with pytest.raises(EngineNotReady) as down, door.admit("k"):
        pass
    assert down.value.retry_after_s
    engine.ready = True
    with door.admit("k"):
        pass
