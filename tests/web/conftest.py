"""A web application over real parts. The answerer is a scripted fake where a test is about HTTP, not about answers."""

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from flask.testing import FlaskClient

from folio.catalog import Catalog
from folio.services import Services, build_services
from folio.settings import Settings
from generation.answer import Answer, AskRequest, Citation, NearestPassage, Sentence, Timing, Usage
from generation.events import Done, Event, PassagesFound, SentenceChecked, Thinking, Token
from ingest.lease import Leases
from ingest.processing import ItemProcessor
from web.app import create_app

TEXT = "PagedAttention reduces KV cache fragmentation [1]."


def an_answer(request: AskRequest) -> Answer:
    """A finished answer as the real answerer would give it."""
    citation = Citation(
        n=1,
        document_id="d" * 32,
        document_version=1,
        title="Attention",
        uri="file:///attention.md",
        media_type="text/markdown",
        page=None,
        start=0,
        end=14,
        quote="PagedAttention",
        score=0.9,
        passage_start=0,
        passage_end=100,
    )
    return Answer(
        answer_id="a" * 32,
        question=request.question,
        collection=request.collection,
        language="en",
        answer=TEXT,
        refused=False,
        citations=[citation],
        sentences=[Sentence(text=TEXT, start=0, end=len(TEXT), citations=[1], supported=True)],
        usage=Usage(prompt_tokens=10, cached_tokens=4, completion_tokens=6),
        timing=Timing(),
        model="starter",
    )


def the_events(request: AskRequest) -> Iterator[Event]:
    """The events of that answer."""
    passage = NearestPassage(
        n=1,
        document_id="d" * 32,
        title="Attention",
        uri="file:///attention.md",
        media_type="text/markdown",
        page=None,
        start=0,
        end=100,
        text="PagedAttention ...",
        heading_path=[],
        score=0.9,
    )
    yield PassagesFound((passage,), 1.0)
    if request.thinking == "show":
        yield Thinking("let me see")
    for word in ("PagedAttention ", "reduces ", "KV cache ", "fragmentation ", "[1]."):
        yield Token(word)
    answer = an_answer(request)
    yield SentenceChecked(answer.sentences[0])
    yield Done(answer)


class FakeAnswerer:
    """Answers every question with the same text; `events` can be replaced to provoke faults."""

    def __init__(self) -> None:
        self.asked: list[AskRequest] = []
        self.events: Callable[[AskRequest], Iterator[Event]] = the_events

    def stream(self, request: AskRequest) -> Iterator[Event]:
        self.asked.append(request)
        return self.events(request)


def fake_engine(ready: bool = True) -> SimpleNamespace:
    """An engine that only says how it is."""
    health = SimpleNamespace(
        ready=ready,
        state="ready" if ready else "starting",
        detail="",
        model="starter",
        max_model_len=4096,
        running=0,
        waiting=0,
        kv_cache_usage=0.0,
    )
    return SimpleNamespace(health=lambda: health, close=lambda: None)


@pytest.fixture
def answerer() -> FakeAnswerer:
    """The scripted answerer of `services`."""
    return FakeAnswerer()


@pytest.fixture(scope="session")
def opened_services(embedder, empty_catalog) -> Callable[..., AbstractContextManager[Services]]:
    """Opens real parts around a scripted answerer, with an empty collection `default`."""

    @contextmanager
    def opened(settings: Settings, answerer: FakeAnswerer | None = None) -> Iterator[Services]:
        answerer = answerer or FakeAnswerer()
        empty_catalog(settings.catalog_url).dispose()
        built = replace(build_services(settings, embedder=embedder, engine=fake_engine()), answerer=answerer)
        built.collections.create("default")
        yield built
        built.close()

    return opened


@pytest.fixture
def services(settings: Settings, opened_services, answerer: FakeAnswerer) -> Iterator[Services]:
    """Real parts around the scripted answerer, with an empty collection `default`."""
    with opened_services(settings, answerer) as built:
        yield built


@pytest.fixture
def catalog(services: Services) -> Catalog:
    """The catalog of `services`."""
    return services.catalog


@pytest.fixture
def client(services: Services) -> FlaskClient:
    """A client of an open Folio."""
    return create_app(services).test_client()


@pytest.fixture
def client_with(services: Services) -> Callable[..., FlaskClient]:
    """Makes a client of a Folio with other settings."""

    def make(**changes: object) -> FlaskClient:
        return create_app(replace(services, settings=services.settings.model_copy(update=changes))).test_client()

    return make


@pytest.fixture
def unused_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def worked() -> Callable[[Services, str], None]:
    """Processes the files of a job as the worker does, here and now."""

    def process(services: Services, job_id: str) -> None:
        settings = services.settings
        leases = Leases(services.catalog, "test", lease_s=settings.lease_s, attempts=settings.item_attempts)
        with closing(ItemProcessor(services.catalog, services.embedder, settings, leases)) as processor:
            for _ in range(2):  # the second time, files that were found in files
                for item in services.ingestion.job(job_id).items:
                    processor.process(item.id)
        assert services.ingestion.job(job_id).is_finished

    return process


@pytest.fixture
def work(services: Services, worked) -> Callable[[str], None]:
    """Processes the files of a job of `services`."""
    return partial(worked, services)
