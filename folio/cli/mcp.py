"""`folio mcp`: search and ask as tools for MCP clients, over stdio.

It talks to a running Folio through the REST interface, so it starts at once, loads no model, and a key limits what it
may see.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from folio.client import Folio

INSTRUCTIONS = (
    "Folio answers questions from the user's own documents. `ask` gives a finished answer whose [n] point to its "
    "sources; `search` gives the passages themselves. When an answer says `refused`, the documents do not hold it."
)


class Source(BaseModel):
    """What an [n] in an answer points to."""

    n: int
    title: str
    uri: str
    page: int | None
    quote: str


class AskResult(BaseModel):
    """An answer with its sources."""

    answer: str
    refused: bool = Field(description="The documents do not hold the answer.")
    sources: list[Source]


class FoundPassage(BaseModel):
    """A passage that a search found."""

    title: str
    uri: str
    page: int | None
    text: str
    score: float


class SearchResult(BaseModel):
    """Passages, best first."""

    passages: list[FoundPassage]


@click.command("mcp")
@click.option("--url", help="The Folio to use; by default the one of the settings, on this machine.")
@click.option("--collection", default="default", show_default=True, help="Where to look unless the client says.")
def mcp(url: str | None, collection: str) -> None:
    """Serve search and ask to MCP clients over stdio. FOLIO_API_KEY is the key it sends, if one is needed."""
    from folio.cli.context import settings
    from folio.client import Folio

    loaded = settings()
    address = url or f"http://{loaded.host}:{loaded.port}"
    with Folio(address, loaded.api_key.get_secret_value()) as folio:
        build_server(folio, collection).run("stdio")


def build_server(folio: "Folio", collection: str) -> "MCPServer[Any]":
    """The MCP server over a client of a running Folio."""
    from mcp.server import MCPServer
    from mcp_types import ToolAnnotations

    from folio import __version__

    server: MCPServer[Any] = MCPServer("folio", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    reads_only = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool in (_ask_tool(folio, collection), _search_tool(folio, collection)):
        server.tool(annotations=reads_only)(tool)
    return server


def _ask_tool(folio: "Folio", default: str) -> Callable[..., AskResult]:
    def ask(question: str, collection: str = default) -> AskResult:
        """Answer a question from the documents of a collection, with sources."""
        with _tool_errors():
            answer = folio.ask(question, collection=collection)
        sources = [Source.model_validate(citation) for citation in answer["citations"]]
        return AskResult(answer=answer["answer"], refused=answer["refused"], sources=sources)

    return ask


def _search_tool(folio: "Folio", default: str) -> Callable[..., SearchResult]:
    def search(query: str, collection: str = default, top_k: int = 5) -> SearchResult:
        """Find the passages of a collection's documents that fit a query best."""
        with _tool_errors():
            found = folio.search(query, collection=collection, top_k=top_k)
        passages = [FoundPassage.model_validate({**p, "page": p["page_start"]}) for p in found["passages"]]
        return SearchResult(passages=passages)

    return search


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Turn a problem, or a Folio that does not run, into an error that the model can read."""
    import httpx
    from mcp.server.mcpserver.exceptions import ToolError

    from folio.client import FolioProblem

    try:
        yield
    except FolioProblem as exc:
        raise ToolError(str(exc)) from exc
    except httpx.TransportError as exc:
        raise ToolError("Folio can't be reached. Start it with `folio serve`, or give its address by --url.") from exc
