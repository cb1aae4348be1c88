"""The Python client and the MCP server, through the application."""

import anyio
import httpx
import pytest
from mcp import Client

from folio.cli.mcp import build_server
from folio.client import Folio, FolioProblem
from folio.errors import EngineFailed
from generation.events import Failed, PassagesFound, Token
from web.app import create_app

QUESTION = "What does PagedAttention reduce?"


class BreaksOnce(httpx.WSGITransport):
    """Cuts the first stream after a few events, as a bad network does."""

    broken = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if self.broken or b'"stream":true' not in request.content:
            return response
        type(self).broken = True
        text = b"".join(response.stream)
        kept = b"\n\n".join(text.split(b"\n\n")[:4]) + b"\n\n"
        return httpx.Response(200, headers=response.headers, stream=_Cut(kept))


class _Cut(httpx.SyncByteStream):
    def __init__(self, kept: bytes) -> None:
        self._kept = kept

    def __iter__(self):
        yield self._kept
        raise httpx.ReadError("connection lost")


@pytest.fixture
def folio(services):
    """The client, wired to the application."""
    with Folio("http://localhost", transport=httpx.WSGITransport(app=create_app(services))) as client:
        yield client


def test_asking_gives_the_answer(folio):
    assert folio.ask(QUESTION)["citations"][0]["quote"] == "PagedAttention"


def test_a_stream_gives_the_events_in_order(folio):
    names = [event.name for event in folio.stream(QUESTION)]
    assert names == ["passages", *["token"] * 5, "sentence", "done"]


def test_a_broken_stream_is_resumed_without_losing_or_repeating_anything(services, monkeypatch):
    monkeypatch.setattr("folio.client.RESUME_PAUSE_S", 0)
    with Folio("http://localhost", transport=BreaksOnce(app=create_app(services))) as folio:
        events = list(folio.stream(QUESTION))
    assert BreaksOnce.broken
    assert [event.name for event in events] == ["passages", *["token"] * 5, "sentence", "done"]


def test_a_failure_is_a_problem_with_its_code(folio, answerer):
    with pytest.raises(FolioProblem) as empty:
        folio.ask(" ")
    assert (empty.value.status, empty.value.code) == (400, "empty_question")
    answerer.events = lambda request: iter([PassagesFound((), 0.0), Token("a"), Failed(EngineFailed("It stopped."))])
    with pytest.raises(FolioProblem, match="It stopped"):
        list(folio.stream(QUESTION))


def test_collections_and_status(folio):
    assert [c["name"] for c in folio.collections()] == ["default"]
    assert folio.status()["engine"]["ready"]


def call(folio: Folio, tool: str, **arguments: object):
    """Call a tool through the official MCP client."""

    async def run():
        async with Client(build_server(folio, "default")) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(run)


def test_the_mcp_server_offers_ask_and_search(folio):
    async def run():
        async with Client(build_server(folio, "default")) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in anyio.run(run)}
    assert set(tools) == {"ask", "search"}
    assert tools["ask"].annotations.read_only_hint


def test_an_mcp_client_gets_the_answer_with_its_sources(folio):
    result = call(folio, "ask", question=QUESTION)
    assert not result.is_error
    assert result.structured_content["sources"][0]["quote"] == "PagedAttention"


def test_an_mcp_client_is_told_what_went_wrong(folio):
    result = call(folio, "search", query="x", collection="absent")
    assert result.is_error
    assert "absent" in result.content[0].text
    with Folio("http://127.0.0.1:9") as unreachable:
        assert "folio serve" in call(unreachable, "ask", question="x").content[0].text
