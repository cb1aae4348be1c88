"""The OpenAI-compatible door, through the official client."""

import httpx
import openai
import pytest
from openai import OpenAI

from folio.errors import EngineNotReady
from generation.events import Failed
from web.app import create_app

QUESTION = [{"role": "user", "content": "What does PagedAttention reduce?"}]
BASE = "http://localhost"


@pytest.fixture
def openai_client(services):
    """The official client, wired to the application."""
    transport = httpx.WSGITransport(app=create_app(services))
    with httpx.Client(transport=transport, base_url=BASE) as http:
        yield OpenAI(base_url=f"{BASE}/v1", api_key="none", http_client=http, max_retries=0)


def test_a_completion_is_the_answer_with_its_citations_as_annotations(openai_client):
    reply = openai_client.chat.completions.create(model="default", messages=QUESTION)
    message = reply.choices[0].message
    assert message.content.startswith("PagedAttention")
    citation = message.annotations[0].url_citation
    assert message.content[citation.start_index : citation.end_index] == "[1]"
    assert citation.url.startswith(f"{BASE}/api/v1/documents/")
    assert (reply.usage.total_tokens, reply.usage.prompt_tokens_details.cached_tokens) == (16, 4)
    assert reply.model == "default"


def test_a_streamed_completion_joins_to_the_same_text_and_ends_with_annotations_and_usage(openai_client):
    whole = openai_client.chat.completions.create(model="default", messages=QUESTION)
    chunks = list(
        openai_client.chat.completions.create(
            model="default", messages=QUESTION, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-2].choices[0].delta.annotations[0]["url_citation"]["title"] == "Attention"
    assert chunks[-1].usage.total_tokens == 16


def test_sampling_and_folio_s_own_options_reach_the_answerer(openai_client, answerer):
    openai_client.chat.completions.create(
        model="default",
        messages=[{"role": "system", "content": "Be brief."}, *QUESTION],
        temperature=0.5,
        max_tokens=50,
        stop=["END"],
        seed=3,
        extra_body={"folio": {"top_k": 2, "filters": {"tags": ["x"]}}},
    )
    asked = answerer.asked[-1]
    assert asked.question == QUESTION[0]["content"]
    assert (asked.sampling.temperature, asked.sampling.max_tokens, asked.sampling.stop) == (0.5, 50, ["END"])
    assert (asked.top_k, asked.filters.tags) == (2, ("x",))


def test_earlier_messages_become_the_history(openai_client, answerer):
    talk = [("user", "What is vLLM?"), ("assistant", "An engine [1]."), ("user", "Who made it?"), ("user", "And when?")]
    messages = [{"role": role, "content": text} for role, text in talk]
    openai_client.chat.completions.create(model="default", messages=messages)
    assert answerer.asked[-1].question == "And when?"
    assert [(t.question, t.answer) for t in answerer.asked[-1].history] == [("What is vLLM?", "An engine [1].")]


def test_content_in_parts_is_joined(openai_client, answerer):
    parts = [{"type": "text", "text": "What does"}, {"type": "text", "text": "it reduce?"}]
    openai_client.chat.completions.create(model="default", messages=[{"role": "user", "content": parts}])
    assert answerer.asked[-1].question == "What does\nit reduce?"


@pytest.mark.parametrize(
    "unsupported", [{"n": 2}, {"tools": []}, {"response_format": {"type": "json_object"}}, {"presence_penalty": 1}]
)
def test_what_cannot_be_honoured_is_refused_by_name(openai_client, unsupported):
    with pytest.raises(openai.BadRequestError, match=next(iter(unsupported))):
        openai_client.chat.completions.create(model="default", messages=QUESTION, **unsupported)


def test_errors_are_those_the_client_knows(openai_client, answerer):
    with pytest.raises(openai.BadRequestError):
        openai_client.chat.completions.create(model="default", messages=[{"role": "assistant", "content": "hi"}])
    answerer.events = lambda request: iter([Failed(EngineNotReady("Loading.", retry_after_s=3))])
    with pytest.raises(openai.InternalServerError) as failed:
        openai_client.chat.completions.create(model="default", messages=QUESTION, stream=True)
    assert (failed.value.status_code, failed.value.response.headers["Retry-After"]) == (503, "3")


def test_models_are_the_collections_and_the_embedding_model(openai_client, services):
    names = [model.id for model in openai_client.models.list()]
    assert names == ["default", services.embedder.name]
    assert openai_client.models.retrieve("default").id == "default"
    with pytest.raises(openai.NotFoundError):
        openai_client.models.retrieve("absent")


def test_embeddings_are_those_of_the_collections(openai_client, services):
    texts = ["the KV cache", "键值缓存"]
    reply = openai_client.embeddings.create(model=services.embedder.name, input=texts)
    expected = services.embedder.embed_documents(texts)
    for item, vector in zip(reply.data, expected, strict=True):
        assert item.embedding == pytest.approx(vector.tolist(), abs=1e-3)
    as_floats = openai_client.embeddings.create(model=services.embedder.name, input=texts[0], encoding_format="float")
    assert len(as_floats.data[0].embedding) == services.embedder.dimension
    with pytest.raises(openai.NotFoundError):
        openai_client.embeddings.create(model="text-embedding-3-small", input="a")
    with pytest.raises(openai.BadRequestError):
        openai_client.embeddings.create(model=services.embedder.name, input="a", dimensions=7)
