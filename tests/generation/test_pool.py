"""Several engines as one: the least loaded answers, a conversation stays where its prefix is, and the dead are passed
over, but never in mid-answer."""

import socket
from contextlib import closing

import pytest

from folio.errors import ConfigurationError, EngineFailed, EngineNotReady, TooManyRequests
from generation.answer import Sampling
from generation.engine import GenerationRequest, Message
from generation.pool import AFFINITY_SLACK, VllmEngine


def dead_url() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def ask(engine: VllmEngine, affinity: str = "", **more: object) -> str:
    request = GenerationRequest((Message("user", "hi"),), Sampling(), 8, affinity=affinity, **more)
    return "".join(token.text for token in engine.stream_chat(request))


def test_a_dead_member_is_passed_over(fake_vllm) -> None:
    alive = fake_vllm()
    with closing(VllmEngine([dead_url(), alive.url])) as engine:
        assert [ask(engine, str(n)) for n in range(6)] == ["Hello there."] * 6
        assert engine.health().ready
        assert "does not answer" in engine.health().detail
        assert engine.count_messages([Message("user", "hi")]) == 7
        assert engine.context_length() == 2048


def test_a_request_goes_to_another_only_before_its_first_token(fake_vllm) -> None:
    refusing, alive = fake_vllm("no_start"), fake_vllm()
    with closing(VllmEngine([refusing.url, alive.url])) as engine:
        assert all(ask(engine, str(n)) == "Hello there." for n in range(8))
    assert refusing.chats
    dying, other = fake_vllm("dies"), fake_vllm()
    with closing(VllmEngine([dying.url, other.url])) as engine:
        affinity = next(str(n) for n in range(50) if engine._by_preference(str(n))[0].url == dying.url)
        with pytest.raises(EngineFailed):
            ask(engine, affinity)
    assert other.chats == []


def test_a_conversation_stays_where_its_prefix_is_until_that_is_busy(fake_vllm) -> None:
    servers = [fake_vllm(), fake_vllm(), fake_vllm()]
    with closing(VllmEngine([s.url for s in servers])) as engine:
        # Their ports are others in each run: of 60 conversations all three servers get some but for once in 10^10.
        for n in range(60):
            for _ in range(2):
                ask(engine, f"conversation {n}")
        shares = [len(s.chats) for s in servers]
        assert all(share % 2 == 0 for share in shares)
        assert min(shares) > 0
        home = next(s for s in servers if s.url == engine._by_preference("conversation 0")[0].url)
        home.running = AFFINITY_SLACK
        engine.health()
        assert engine._by_preference("conversation 0")[0].url == home.url
        home.waiting = 1
        engine.health()
        assert engine._by_preference("conversation 0")[0].url != home.url


def test_a_prompt_without_a_home_goes_to_the_least_loaded(fake_vllm) -> None:
    busy, idle = fake_vllm(), fake_vllm()
    busy.running = 3
    with closing(VllmEngine([busy.url, idle.url])) as engine:
        engine.health()
        ask(engine)
    assert (len(busy.chats), len(idle.chats)) == (0, 1)


def test_full_queues_and_refused_keys_are_told_apart_from_a_dead_engine(fake_vllm) -> None:
    with closing(VllmEngine([fake_vllm("full").url, fake_vllm("full").url])) as engine, pytest.raises(TooManyRequests):
        ask(engine)
    with closing(VllmEngine([fake_vllm("key").url], api_key="wrong")) as engine:
        with pytest.raises(ConfigurationError, match="FOLIO_ENGINE_API_KEY"):
            ask(engine)
        assert engine.health().state == "failed"
    with closing(VllmEngine([dead_url()])) as engine, pytest.raises(EngineNotReady):
        ask(engine)


def test_the_reason_that_the_supervisor_knows_is_told() -> None:
    with closing(VllmEngine([dead_url()], explain=lambda: "It ran out of memory.")) as engine:
        health = engine.health()
        assert (health.state, health.detail) == ("failed", "It ran out of memory.")


def test_the_salt_of_the_prefix_cache_and_the_wait_in_the_queue_pass_through(fake_vllm) -> None:
    server = fake_vllm()
    with closing(VllmEngine([server.url])) as engine:
        request = GenerationRequest((Message("user", "hi"),), Sampling(), 8, cache_salt="s")
        tokens = list(engine.stream_chat(request))
    assert server.chats[0]["cache_salt"] == "s"
    assert tokens[-1].usage.queue_ms == 250.0


@pytest.mark.engine
def test_a_real_engine_beside_a_dead_one_answers(engine_url: str) -> None:
    with closing(VllmEngine([dead_url(), engine_url, dead_url()])) as engine:
        assert engine.health().ready
        request = GenerationRequest((Message("user", "Reply with the word yes."),), Sampling(), 4)
        tokens = list(engine.stream_chat(request))
    assert "".join(token.text for token in tokens)
    assert tokens[-1].usage.prompt_tokens > 0
