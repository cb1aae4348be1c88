"""README's own lines work as written; only the address and the data folder are those of the test."""

import json
import re
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.engine

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000"
BLOCKS = re.findall(r"^```(sh|python|json)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
CURL = [code for language, code in BLOCKS if language == "sh" and code.startswith("curl")]
MCP = [code for language, code in BLOCKS if language == "json"]


def test_there_is_something_to_run():
    assert len(MCP) == 1
    assert len(PYTHON) == 2
    assert len(CURL) == 1
    assert len(README.splitlines()) < 200


@pytest.mark.parametrize("code", PYTHON, ids=["client", "openai"])
def test_the_python_examples_print_a_cited_answer(code, live_server):
    done = subprocess.run(
        [sys.executable, "-c", code.replace(ADDRESS, live_server)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert "[1]" in done.stdout
    assert "PagedAttention" in done.stdout


@pytest.mark.parametrize("code", CURL, ids=["curl"])
def test_the_curl_example_prints_a_cited_answer(code, live_server):
    done = subprocess.run(
        ["bash", "-c", code.replace(ADDRESS, live_server)], capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["citations"], done.stdout


@pytest.mark.parametrize("code", MCP, ids=["mcp"])
def test_the_mcp_server_as_configured_answers_with_sources(code, live_server):
    configured = json.loads(code.replace(ADDRESS, live_server))["mcpServers"]["folio"]
    server = StdioServerParameters(command=str(ROOT / configured["command"]), args=configured["args"], cwd=ROOT)

    async def ask():
        async with Client(server) as client:
            return await client.call_tool("ask", {"question": "What does PagedAttention reduce?"})

    result = anyio.run(ask)
    assert not result.is_error, result.content
    assert "[1]" in result.structured_content["answer"]
    assert result.structured_content["sources"]


def test_every_link_into_the_repository_leads_somewhere():
    for target in re.findall(r"\]\(((?!https?://)[^)#]+)\)", README):
        assert (ROOT / target).exists(), target
