"""Where a file lies on the server's disk is told to no reader: not in a reply, and not by a filter that tries paths."""

import zipfile
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client
from sqlalchemy import update

from folio.audit import AuditLog
from folio.catalog.models import Answer, Document
from folio.cli.mcp import build_server
from folio.client import Folio
from generation.answering import Answerer
from web.app import create_app

FACT = "The Larkmoor Observatory was founded in 1874 by Edmund Hale."
QUESTION = "When was the Larkmoor Observatory founded?"
NOTE = "file:archive/2019/larkmoor notes.md"
MEMBER = "file:archive/box.zip!/letters/thanks.txt"
BROKEN = "file:archive/broken.pdf"


@pytest.fixture
def house(services, work, scripted, tmp_path) -> SimpleNamespace:
    """An application over `someone/archive`, ingested from disk: a note, an archive's member, a file that failed."""
    folder = tmp_path / "someone" / "archive"
    (folder / "2019").mkdir(parents=True)
    (folder / "2019" / "larkmoor notes.md").write_text(f"# Larkmoor\n\n{FACT}\n", encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 no more")
    with zipfile.ZipFile(folder / "box.zip", "w") as box:
        box.writestr("letters/thanks.txt", "Thank you for the tea and for the cake.")
    job = services.ingestion.submit_paths("default", [str(folder)])
    work(job.id)
    answering = replace(
        services, answerer=Answerer(services.catalog, services.searcher, scripted(f"{FACT} [1]"), services.settings)
    )
    uri = (folder / "2019" / "larkmoor notes.md").as_uri()
    note = next(item for item in services.documents.list("default").items if item.title == "Larkmoor")
    return SimpleNamespace(services=answering, client=create_app(answering).test_client(), note=note.id, uri=uri)


def test_no_reply_tells_where_a_file_lies(house, tmp_path):
    client, said = house.client, {}

    def get(path: str, method: str = "GET", **more: object) -> Any:
        with client.open(path, method=method, **more) as reply:
            assert reply.status_code < 300, reply.text
            said[f"{method} {path}"] = reply.data + str(reply.headers).encode()
        return reply

    documents = get("/api/v1/documents").json["items"]
    assert sorted(document["uri"] for document in documents) == [NOTE, MEMBER]
    note = f"/api/v1/documents/{house.note}"
    assert get(note).json["uri"] == NOTE
    for part in ("text", "text?format=plain", "chunks", "boxes?page=1&start=0&end=1", "file"):
        get(f"{note}/{part}")
    assert get(f"{note}/file").headers["Content-Disposition"].count("larkmoor")

    [job] = get("/api/v1/jobs").json["items"]
    assert job["source"] == "disk"
    assert {item["uri"] for item in get(f"/api/v1/jobs/{job['id']}").json["items"]} >= {NOTE, MEMBER, BROKEN}
    assert [i["uri"] for i in get(f"/api/v1/jobs/{job['id']}/items?state=failed").json["items"]] == [BROKEN]
    get(f"/api/v1/jobs/{job['id']}/retry", "POST")
    get(f"/api/v1/jobs/{job['id']}/cancel", "POST")

    found = get("/api/v1/search", "POST", json={"query": QUESTION}).json["passages"]
    assert found[0]["uri"] == NOTE
    answer = get("/api/v1/ask", "POST", json={"question": QUESTION}).json
    assert [citation["uri"] for citation in answer["citations"]] == [NOTE]
    assert NOTE in get("/api/v1/ask", "POST", json={"question": QUESTION, "stream": True}).text
    get("/api/v1/ask", "POST", json={"question": QUESTION, "mode": "agent"})
    get(f"/api/v1/answers/{answer['answer_id']}")
    get(f"/api/v1/conversations/{answer['conversation_id']}")
    client.put(f"/api/v1/answers/{answer['answer_id']}/feedback", json={"rating": -1})
    for path in ("/api/v1/conversations", "/api/v1/feedback", "/api/v1/collections", "/api/v1/status", "/v1/models"):
        get(path)

    chat = {"model": "default", "messages": [{"role": "user", "content": QUESTION}]}
    whole = get("/v1/chat/completions", "POST", json=chat).json
    assert whole["choices"][0]["message"]["annotations"][0]["folio"]["uri"] == NOTE
    assert NOTE in get("/v1/chat/completions", "POST", json={**chat, "stream": True}).text
    with house.services.catalog.read() as session:
        assert session.get(Document, house.note).uri == house.uri
    get(note, "DELETE")
    [line] = [line for line in AuditLog(house.services.catalog).lines() if line.action == "document.delete"]
    assert line.detail["uri"] == house.uri  # which administrators see

    assert [name for name, text in said.items() if _tells(text, tmp_path)] == []


def test_no_tool_of_the_mcp_server_tells_it(house, tmp_path):
    async def call(folio: Folio, tool: str, argument: str) -> str:
        async with Client(build_server(folio, "default")) as client:
            return (await client.call_tool(tool, {argument: QUESTION})).model_dump_json()

    with Folio("http://localhost", transport=httpx.WSGITransport(app=create_app(house.services))) as folio:
        for tool, argument in (("ask", "question"), ("search", "query")):
            said = anyio.run(call, folio, tool, argument)
            assert NOTE in said
            assert not _tells(said.encode(), tmp_path)


def test_a_filter_and_a_query_look_at_what_is_shown(house, tmp_path):
    def found(prefix: str) -> int:
        body = {"query": QUESTION, "filters": {"uri_prefix": prefix}}
        return len(house.client.post("/api/v1/search", json=body).json["passages"])

    def listed(query: str) -> int:
        return house.client.get("/api/v1/documents", query_string={"query": query}).json["total"]

    assert (found("file:archive/2019/"), found("file:elsewhere"), found("file:")) == (1, 0, 2)
    assert (found("file:///"), found(tmp_path.as_uri()), found((tmp_path / "someone").as_uri())) == (0, 0, 0)
    assert (listed("2019/larkmoor n"), listed("THANKS.txt")) == (1, 1)
    assert (listed("someone"), listed(tmp_path.name), listed("///")) == (0, 0, 0)


def test_a_stored_answer_does_not_tell_it(house, tmp_path):
    answer = house.client.post("/api/v1/ask", json={"question": QUESTION}).json
    with house.services.catalog.write() as session:
        session.execute(update(Document).values(title=""))
        row = session.get(Answer, answer["answer_id"])  # as an older Folio kept it
        old = {**row.receipt["answer"], "citations": [{**answer["citations"][0], "uri": house.uri}]}
        row.receipt = {**row.receipt, "answer": old}
    shown = house.client.get(f"/api/v1/answers/{answer['answer_id']}")
    assert shown.json["answer"]["citations"][0]["uri"] == "file:larkmoor notes.md"
    assert not _tells(shown.data, tmp_path)

    refused = house.client.post("/api/v1/ask", json={"question": "What is the boiling point of tungsten?"}).json
    assert refused["refused"]
    assert NOTE in refused["answer"]  # in place of the title
    with house.services.catalog.read() as session:
        assert not _tells(session.get(Answer, refused["answer_id"]).answer.encode(), tmp_path)


def _tells(said: bytes, tmp_path: Any) -> bool:
    return any(part.encode() in said for part in (str(tmp_path), "/someone", "someone/"))
