"""A key for one collection can't learn that another exists: every door answers for it as for one that never was."""

import io
import re
from types import SimpleNamespace

import anyio
import httpx
import pytest
from mcp import Client

from folio.cli.mcp import build_server
from folio.client import Folio
from folio.keys import KeyStore
from folio.settings import load_settings
from generation.answer import Answer, AskRequest, Timing, Usage
from generation.receipts import Receipt
from web.app import create_app

ABSENT_ID = "0" * 32
CHAT = {"model": "NAME", "messages": [{"role": "user", "content": "a"}]}
BY_NAME = [
    ("GET", "/api/v1/collections/NAME", None),
    ("POST", "/api/v1/collections", {"name": "NAME"}),
    ("DELETE", "/api/v1/collections/NAME", None),
    ("POST", "/api/v1/ask", {"question": "a", "collection": "NAME"}),
    ("POST", "/api/v1/ask", {"question": "a", "collection": "NAME", "stream": True}),
    ("POST", "/api/v1/ask", {"question": "a", "collection": "NAME", "mode": "agent"}),
    ("POST", "/api/v1/search", {"query": "a", "collection": "NAME"}),
    ("GET", "/api/v1/documents?collection=NAME", None),
    ("GET", "/api/v1/jobs?collection=NAME", None),
    ("POST", "/api/v1/documents", {"text": "a", "title": "b", "collection": "NAME"}),
    ("POST", "/api/v1/documents", {"url": "https://example.com/", "collection": "NAME"}),
    ("POST", "/v1/chat/completions", CHAT),
    ("POST", "/v1/chat/completions", {**CHAT, "stream": True}),
    ("POST", "/v1/embeddings", {"model": "NAME", "input": "a"}),
    ("GET", "/v1/models/NAME", None),
]
BY_ID = [
    ("document", "GET", "/api/v1/documents/ID", None),
    ("document", "GET", "/api/v1/documents/ID/text", None),
    ("document", "GET", "/api/v1/documents/ID/chunks", None),
    ("document", "GET", "/api/v1/documents/ID/file", None),
    ("document", "GET", "/api/v1/documents/ID/boxes?page=1&start=0&end=1", None),
    ("document", "DELETE", "/api/v1/documents/ID", None),
    ("document", "GET", "/api/v1/documents?collection=mine&cursor=ID", None),
    ("document", "POST", "/api/v1/search", {"query": "a", "collection": "mine", "filters": {"document_ids": ["ID"]}}),
    ("job", "GET", "/api/v1/jobs/ID", None),
    ("job", "GET", "/api/v1/jobs/ID/items", None),
    ("job", "POST", "/api/v1/jobs/ID/cancel", None),
    ("job", "POST", "/api/v1/jobs/ID/retry", None),
    ("job", "GET", "/api/v1/jobs?cursor=ID", None),
    ("answer", "GET", "/api/v1/answers/ID", None),
    ("answer", "PUT", "/api/v1/answers/ID/feedback", {"rating": 1}),
    ("conversation", "GET", "/api/v1/conversations/ID", None),
    ("conversation", "DELETE", "/api/v1/conversations/ID", None),
    ("conversation", "POST", "/api/v1/ask", {"question": "a", "collection": "mine", "conversation_id": "ID"}),
    ("conversation", "POST", "/v1/chat/completions", {**CHAT, "model": "mine", "folio": {"conversation_id": "ID"}}),
]


@pytest.fixture(scope="module")
def services(opened_services, tmp_path_factory):
    """One Folio for all: what its key may not know it may not change either. A test that changes what the key may see
    comes last.
    """
    with opened_services(load_settings(data_dir=tmp_path_factory.mktemp("house"))) as built:
        yield built


@pytest.fixture(scope="module")
def house(services, worked) -> SimpleNamespace:
    """A collection `secret` with everything a collection can hold, one `mine`, and a key for `mine` alone."""
    services.collections.create("mine")
    secret = services.collections.create("secret").id
    jobs = [services.ingestion.submit_text(name, "A title", "Some words.").id for name in ("secret", "mine")]
    for job in jobs:
        worked(services, job)
    key = KeyStore(services.catalog).create("me", ["ask", "ingest"], ["mine"])
    # even what this key asked when it could still see the collection is out of its sight now
    conversation = services.conversations.create(secret, "a", key.id)
    blank = {"language": "en", "refused": False, "citations": [], "sentences": [], "usage": Usage(), "timing": Timing()}
    texts = {"question": "a", "collection": "secret", "answer": "b", "model": "m", "conversation_id": conversation}
    services.receipts.store(receipt(Answer(answer_id="a" * 32, **blank, **texts), key.id), secret)
    [document] = services.documents.list("secret").items
    ids = {"document": document.id, "job": jobs[0], "answer": "a" * 32, "conversation": conversation}
    return SimpleNamespace(ids=ids, headers={"Authorization": f"Bearer {key.key}"}, key=key.key)


def receipt(answer: Answer, owner: str) -> Receipt:
    """The least a receipt can be."""
    lists = {"passages": [], "prompt": [], "weights": {}, "prompt_tokens_by_part": {}, "signals": {}}
    numbers = {
        "dropped_passages": 0,
        "dropped_turns": 0,
        "max_tokens": 1,
        "refusal_probability": 0,
        "refusal_threshold": 1,
    }
    texts = {"collection": "", "search_query": "a", "index_generation": "", "raw": "", "finish_reason": ""}
    return Receipt(answer=answer, owner=owner, sampling=AskRequest(question="a").sampling, **lists, **numbers, **texts)


def filled(value: object, place: str, by: str) -> object:
    """A request body with the place filled."""
    if isinstance(value, dict):
        return {key: filled(each, place, by) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, place, by) for each in value]
    return by if value == place else value


def answer(client, house, method: str, path: str, body: object, place: str, by: str) -> tuple:
    """All of a reply that its reader sees, with the asked name or id taken out."""
    json = None if body is None else filled(body, place, by)
    reply = client.open(path.replace(place, by), method=method, headers=house.headers, json=json)
    own = ("X-Request-Id", "Folio-Stream", "Content-Length", "ETag")
    headers = sorted((name, value) for name, value in reply.headers if name not in own)
    text = reply.get_data(as_text=True).replace(reply.headers["X-Request-Id"], "")
    if "search" in path:
        text = re.sub(r"\d+\.\d+(e-?\d+)?", "some", text)  # how long each stage took
    return reply.status_code, headers, text.replace(by, "?")


@pytest.mark.parametrize(("method", "path", "body"), BY_NAME)
def test_a_hidden_collection_is_answered_like_one_that_never_was(client, house, method, path, body):
    hidden, absent = (answer(client, house, method, path, body, "NAME", name) for name in ("secret", "absent"))
    assert hidden == absent
    assert hidden[0] in (403, 404)


@pytest.mark.parametrize(("kind", "method", "path", "body"), BY_ID)
def test_what_a_hidden_collection_holds_is_answered_like_what_never_was(client, house, kind, method, path, body):
    hidden, absent = (answer(client, house, method, path, body, "ID", key) for key in (house.ids[kind], ABSENT_ID))
    assert hidden == absent


def test_an_upload_into_a_hidden_collection_is_refused_like_one_into_nowhere(client, house):
    def reply(name: str) -> tuple[int, str]:
        data = {"files": [(io.BytesIO(b"a"), "a.md")], "collection": name}
        sent = client.post("/api/v1/documents", data=data, headers=house.headers)
        return sent.status_code, sent.get_json(force=True).get("detail", "").replace(name, "?")

    assert reply("secret") == reply("absent")
    assert reply("mine")[0] == 202


@pytest.mark.parametrize(
    "path",
    [
        "collections",
        "jobs",
        "conversations",
        "feedback?rating=1",
        "evaluations",
        "documents?collection=mine",
        "session",
    ],
)
def test_no_list_names_it(client, house, path):
    reply = client.get(f"/api/v1/{path}", headers=house.headers)
    assert reply.status_code == 200
    assert "secret" not in reply.text
    assert not [key for key in house.ids.values() if key in reply.text]


def test_the_openai_door_does_not_list_it(client, house):
    listed = client.get("/v1/models", headers=house.headers).text
    assert "secret" not in listed
    assert "mine" in listed


@pytest.mark.parametrize("tool", ["ask", "search"])
def test_an_mcp_client_is_told_the_same_of_both(services, house, tool):
    transport = httpx.WSGITransport(app=create_app(services))

    async def call(folio: Folio, name: str):
        async with Client(build_server(folio, "mine")) as client:
            return await client.call_tool(tool, {"question" if tool == "ask" else "query": "a", "collection": name})

    with Folio("http://localhost", house.key, transport=transport) as folio:
        hidden, absent = (anyio.run(call, folio, name) for name in ("secret", "absent"))
    assert hidden.is_error
    assert hidden.content[0].text.replace("secret", "?") == absent.content[0].text.replace("absent", "?")


def test_a_deletion_does_not_tell_that_a_hidden_collection_holds_the_same_bytes(client, services, house):
    [mine] = services.documents.list("mine").items
    [secret] = services.documents.list("secret").items
    assert mine.sha256 == secret.sha256
    receipt = client.delete(f"/api/v1/documents/{mine.id}", headers=house.headers).json
    assert receipt["verified"]
    assert receipt["file_shared"] is False
