"""The doors with the real model behind them."""

from contextlib import closing
from dataclasses import replace

import httpx
import pytest
from openai import OpenAI

from folio.client import Folio
from generation.answering import Answerer
from generation.pool import VllmEngine
from web.app import create_app

NOTE = "PagedAttention reduces fragmentation of the KV cache, because it keeps the cache in small blocks."
QUESTION = "What does PagedAttention reduce?"


@pytest.fixture(scope="module")
def engine(engine_url):
    """The real engine, one for all tests."""
    with closing(VllmEngine([engine_url])) as opened:
        yield opened


@pytest.fixture
def transport(services, work, engine):
    """The application with the real answerer and engine, over one short document."""
    work(services.ingestion.submit_text("default", "Caches", NOTE).id)
    answerer = Answerer(services.catalog, services.searcher, engine, services.settings)
    return httpx.WSGITransport(app=create_app(replace(services, engine=engine, answerer=answerer)))


@pytest.mark.engine
def test_a_real_answer_quotes_the_document_exactly_through_every_door(transport):
    with Folio("http://localhost", transport=transport) as folio:
        streamed = [event for event in folio.stream(QUESTION) if event.name in ("token", "done")]
        answer = streamed[-1].data
        [document] = folio.documents()
        text = folio.text(document["id"])
    assert "".join(event.data["text"] for event in streamed[:-1]).strip() == answer["answer"].strip()
    assert answer["citations"]
    assert all(c["quote"] == text[c["start"] : c["end"]] for c in answer["citations"])
    with httpx.Client(transport=transport, base_url="http://localhost") as http:
        client = OpenAI(base_url="http://localhost/v1", api_key="none", http_client=http)
        message = (
            client.chat.completions.create(
                model="default",
                messages=[
                    {"role": "user", "content": "What is PagedAttention?"},
                    {"role": "assistant", "content": "A way to keep the KV cache [1]."},
                    {"role": "user", "content": QUESTION},
                ],
            )
            .choices[0]
            .message
        )
    assert message.annotations[0].url_citation.title == "Caches"


@pytest.mark.engine
def test_a_receipt_and_a_rating_of_a_real_answer(transport):
    with httpx.Client(transport=transport, base_url="http://localhost", timeout=120) as http:
        answer = http.post("/api/v1/ask", json={"question": QUESTION, "logprobs": True}).json()
        receipt = http.get(f"/api/v1/answers/{answer['answer_id']}").json()
        assert receipt["answer"]["answer"] == answer["answer"]
        assert receipt["logprobs"]
        assert http.put(f"/api/v1/answers/{answer['answer_id']}/feedback", json={"rating": -1}).status_code == 204
        assert http.get("/api/v1/feedback?rating=-1").json()["items"]
        conversation = http.get(f"/api/v1/conversations/{answer['conversation_id']}").json()
        assert conversation["items"][0]["answer_id"] == answer["answer_id"]
        assert http.delete(f"/api/v1/conversations/{answer['conversation_id']}").status_code == 204
        assert http.get(f"/api/v1/answers/{answer['answer_id']}").status_code == 404
