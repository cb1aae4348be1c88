"""The main way through Folio with every part real: upload a file, ask in English and in Chinese, follow a citation."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.engine]

DATA = Path(__file__).parents[3] / "data"
START_S = 120
ANSWER_MS = 90_000
JOB_MS = 60_000
LOOKS = [
    (1280, "en-US", "en", "What does PagedAttention reduce?", "memory"),
    (390, "zh-CN", "zh", "PagedAttention 减少了什么？", "显存"),
]


@pytest.fixture(scope="module")
def served(engine_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real `folio serve`: web server and worker, with the run's engine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("served")
    places = {"FOLIO_PORT": str(port), "FOLIO_DATA_DIR": str(folder / "data"), "FOLIO_ENGINE_URL": engine_url}
    log = folder / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "folio", "serve"],
            env={**os.environ, **places},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            _wait_until_ready(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


def _wait_until_ready(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            if httpx.get(f"{url}/api/v1/status").json()["ready"]:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"folio serve did not become ready:\n{log.read_text('utf-8')[-4000:]}")


def add(page: Page, path: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.click("#attach")
    chooser.value.set_files(path)
    expect(page.locator(".job-card[data-tone=good]")).to_be_visible(timeout=JOB_MS)


@pytest.mark.parametrize(("width", "locale", "folder", "question", "word"), LOOKS)
def test_upload_ask_and_follow_a_citation(
    served: str, open_page, width: int, locale: str, folder: str, question: str, word: str
) -> None:
    page = open_page(width, locale)
    page.goto(served)
    expect(page.locator("#engine-state")).to_have_attribute("data-state", "ready")
    add(page, DATA / folder / "kv-cache-and-pagedattention.pdf")
    page.fill("#question", question)
    page.keyboard.press("Enter")
    expect(page.locator(".prose.final")).to_contain_text(word, timeout=ANSWER_MS)
    expect(page.locator(".refusal")).to_have_count(0)
    page.locator(".prose .cite").first.click()
    expect(page.locator("#source canvas")).to_be_visible()
    expect(page.locator(".pdf-mark").first).to_be_in_viewport()
    page.keyboard.press("Escape")
    page.locator(".making-button").click()
    expect(page.locator(".token-field .tok").first).to_be_visible()
    expect(page.locator(".timeline .decode")).to_be_visible()
