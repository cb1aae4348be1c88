"""What Prometheus and OpenTelemetry are told of an answer."""

import subprocess
import sys
from contextlib import closing

from prometheus_client import REGISTRY

from folio import tracing
from generation.answer import AskRequest, Sampling
from generation.engine import EngineToken, EngineUsage, GenerationRequest, Message
from generation.events import Token
from generation.pool import VllmEngine

QUESTION = "Who founded the Larkmoor Observatory?"
ANSWER = "The Larkmoor Observatory was founded in 1874 by Edmund Hale [1]."
INVENTED = " It was painted green by Otto Klemm in 1911."


class Figures:
    """How much each figure has grown since it was first looked at."""

    def __init__(self) -> None:
        self._before: dict[str, float] = {}

    def now(self, name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(name, labels) or 0.0

    def grown(self, name: str, **labels: str) -> float:
        key = f"{name}{labels}"
        return self.now(name, **labels) - self._before.get(key, 0.0)

    def start(self, *names: str) -> None:
        for name in names:
            self._before[f"{name}{{}}"] = self.now(name)

    def start_labelled(self, name: str, **labels: str) -> None:
        self._before[f"{name}{labels}"] = self.now(name, **labels)


def test_an_answer_is_counted_once_in_every_figure(answerer_over, scripted) -> None:
    usage = EngineUsage(prompt_tokens=100, cached_tokens=64, completion_tokens=10, queue_ms=2000.0)
    engine = scripted(ANSWER, INVENTED, EngineToken(finish_reason="stop", usage=usage))
    engine.usage = usage
    figures = Figures()
    counted = {
        "folio_prompt_tokens_total": 100,
        "folio_cached_prompt_tokens_total": 64,
        "folio_completion_tokens_total": 10,
        "folio_answer_ttft_seconds_count": 1,
        "folio_answer_tpot_seconds_count": 1,
        "folio_answer_retrieval_seconds_count": 1,
        "folio_answer_queue_seconds_count": 1,
    }
    figures.start(*counted, "folio_answer_queue_seconds_sum")
    for outcome in ("answered", "refused", "abandoned", "failed"):
        figures.start_labelled("folio_answers_total", outcome=outcome)
    for verdict in ("true", "false"):
        figures.start_labelled("folio_answer_sentences_total", supported=verdict)
    answer = answerer_over(engine, refusal_threshold=1.0).ask(AskRequest(question=QUESTION))
    assert {name: figures.grown(name) for name in counted} == counted
    assert figures.grown("folio_answers_total", outcome="answered") == 1
    assert figures.grown("folio_answers_total", outcome="abandoned") == 0
    assert figures.grown("folio_answer_sentences_total", supported="true") == 1
    assert figures.grown("folio_answer_sentences_total", supported="false") == 1
    assert 2.0 <= figures.grown("folio_answer_queue_seconds_sum") < 4.0
    assert answer.timing.queue_ms >= 2000


def test_refused_and_abandoned_answers_are_counted_as_such(answerer_over, scripted) -> None:
    figures = Figures()
    figures.start_labelled("folio_answers_total", outcome="refused")
    figures.start_labelled("folio_answers_total", outcome="abandoned")
    answerer_over(scripted("NOT_FOUND")).ask(AskRequest(question="Who is the king of Spain?"))
    assert figures.grown("folio_answers_total", outcome="refused") == 1
    assert figures.grown("folio_answers_total", outcome="abandoned") == 0
    stream = answerer_over(scripted(*ANSWER)).stream(AskRequest(question=QUESTION))
    next(event for event in stream if isinstance(event, Token))
    stream.close()
    assert figures.grown("folio_answers_total", outcome="abandoned") == 1


def test_the_engines_state_is_shown_whenever_it_is_looked_at(fake_vllm) -> None:
    server = fake_vllm()
    server.running, server.waiting = 3, 2
    with closing(VllmEngine([server.url])) as engine:
        engine.health()
        figures = Figures()
        assert figures.now("folio_engine_ready") == 1
        assert figures.now("folio_engine_requests_running") == 3
        assert figures.now("folio_engine_requests_waiting") == 2
    with closing(VllmEngine([])) as engine:
        engine.health()
    assert figures.now("folio_engine_ready") == 0


def test_an_answers_steps_are_spans_of_one_trace(answerer_over, scripted, spans) -> None:
    answerer_over(scripted(ANSWER)).ask(AskRequest(question=QUESTION))
    assert [span.name for span in spans] == ["retrieval", "prompt", "answer"]
    whole = spans[-1]
    assert whole.parent is None
    assert all(span.parent.span_id == whole.context.span_id for span in spans[:-1])


def test_the_engine_is_told_the_trace(fake_vllm, spans) -> None:
    server = fake_vllm()
    with closing(VllmEngine([server.url])) as engine, tracing.span("answer"):
        list(engine.stream_chat(GenerationRequest((Message("user", "hi"),), Sampling(), 8)))
    asked, _ = spans
    assert asked.name == "engine"
    assert [event.name for event in asked.events] == ["first token"]
    headers = {name.lower(): value for name, value in server.headers[0].items()}
    trace, parent = format(asked.context.trace_id, "032x"), format(asked.context.span_id, "016x")
    assert headers["traceparent"].split("-")[1:3] == [trace, parent]


def test_without_tracing_nothing_of_it_is_imported_or_sent(fake_vllm) -> None:
    server = fake_vllm()
    with closing(VllmEngine([server.url])) as engine:
        list(engine.stream_chat(GenerationRequest((Message("user", "hi"),), Sampling(), 8)))
    assert "traceparent" not in {name.lower() for name in server.headers[0]}
    script = (
        "import sys, folio.services, generation.endpoint, generation.answering\n"
        "with generation.endpoint.span('answer'): pass\n"
        "sys.exit('opentelemetry' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
