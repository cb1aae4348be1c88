"""A real Chromium, and a Folio whose answers follow a script, so that a journey on the page is quick and repeatable.

Catalog, search, conversations, receipts and feedback are real; documents, jobs and the model's words are scripted here.
`tests/web/browser/test_browser_main_path.py` goes the main way with every part real.
"""

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from werkzeug.serving import make_server
from werkzeug.wsgi import ClosingIterator

from folio.catalog import Catalog
from folio.services import build_services
from folio.settings import Settings
from web.app import create_app

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AXE = Path(__file__).parents[1] / "axe" / "axe.min.js"
PATIENCE_MS = 15_000
TEXTS = Path(__file__).parents[3] / "web" / "static" / "i18n"
READERS = [(1280, "en-US"), (390, "zh-CN")]


UNCLOSED = "ignore:Exception ignored in. <_io.FileIO name=.*/web/static/:pytest.PytestUnraisableExceptionWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Werkzeug leaves a file that turned out to be unchanged (304) to the garbage collector, which warns."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.filterwarnings(UNCLOSED))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, once for the run."""
    if not Path(CHROMIUM).exists() and not os.environ.get("CI"):
        pytest.skip("Chromium is not installed here; on Debian: apt-get install chromium fonts-noto-cjk")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page of a width, in a language and a theme; what the console reports as an error fails the test."""
    contexts, complaints = [], []

    def make(width: int = 1280, language: str = "en-US", dark: bool = False) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 844 if width < 600 else 900},
            locale=language,
            color_scheme="dark" if dark else "light",
            permissions=["clipboard-read", "clipboard-write"],
            bypass_csp=False,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if _is_fault(message) else None)
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


class Say:
    """The interface's texts in a language, as its file has them; places are filled from keywords."""

    def __init__(self, language: str) -> None:
        self.english = language.startswith("en")
        self.texts = json.loads((TEXTS / f"{language[:2]}.json").read_text("utf-8"))

    def __call__(self, key: str, **values: object) -> str:
        text: str = self.texts[key]
        return text.format(**values) if values else text


class Reader(NamedTuple):
    """A page as its reader has it, and what its texts say."""

    page: Page
    say: Say


@pytest.fixture(params=READERS, ids=["1280-en", "390-zh"])
def reader(
    request: pytest.FixtureRequest, open_page: Callable[..., Page], serious_violations: Callable[[Page], list[str]]
) -> Iterator[Reader]:
    """Goes a journey at a desk in English and on a phone in Chinese; where it ends, the page is accessible and fits."""
    width, language = request.param
    page = open_page(width, language)
    yield Reader(page, Say(language))
    page.emulate_media(reduced_motion="reduce")
    assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def _is_fault(message: object) -> bool:
    text = message.text  # type: ignore[attr-defined]
    return message.type == "error" and "Failed to load resource" not in text  # type: ignore[attr-defined]


@pytest.fixture
def serious_violations() -> Callable[[Page], list[str]]:
    """Runs axe-core on a page; the serious and critical violations as `rule: element`."""

    def check(page: Page) -> list[str]:
        page.evaluate(AXE.read_text("utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{rule['id']}: {node['target']} {node['failureSummary']}"
            for rule in found["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]

    return check


class Cutter:
    """Ends the next answer's connection after `cut_after` pieces, as a broken network would; 0 leaves it whole."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.cut_after = 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        body = self.app(environ, start_response)
        if not self.cut_after or environ["PATH_INFO"] != "/api/v1/ask":
            return body
        pieces, self.cut_after = self.cut_after, 0
        return ClosingIterator(itertools.islice(iter(body), pieces), body.close)


@pytest.fixture
def folio(settings: Settings, embedder, site_parts) -> Iterator[SimpleNamespace]:
    """A running Folio: `.url`, `.engine` to say whether the model is ready, `.cutter` to break a connection."""
    built = build_services(settings, embedder=embedder)
    built.collections.create("default")
    built.searcher.warm()
    parts = site_parts(built.catalog)
    services = replace(
        built, ingestion=parts.ingestion, documents=parts.documents, engine=parts.engine, answerer=parts.answerer
    )
    app = create_app(services)
    app.wsgi_app = cutter = Cutter(app.wsgi_app)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    yield SimpleNamespace(url=url, engine=parts.engine.state, services=services, cutter=cutter)
    server.shutdown()
    thread.join()
    server.server_close()
    built.close()


@pytest.fixture
def site_parts() -> Callable[[Catalog], SimpleNamespace]:
    """Makes the scripted parts."""
    from tests.web.browser.script import scripted_parts

    return scripted_parts
