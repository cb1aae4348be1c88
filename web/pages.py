"""The pages that people open in a browser: empty frames in their language, which scripts fill through the REST API.

A frame needs neither the catalog nor a model, so the first paint waits for nothing. Language and theme are the reader's
choice, kept in two cookies that hold no secret; without a choice, the browser's own preference counts.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, make_response, render_template, request

LANGUAGES = ("en", "zh")
LANGUAGE_COOKIE = "folio_language"
THEME_COOKIE = "folio_theme"
THEMES = ("light", "dark")
STRINGS = Path(__file__).parent / "static" / "i18n"

pages = Blueprint("pages", __name__)


@pages.get("/")
def ask_page() -> Response:
    """Ask, and read answers beside their sources."""
    return _page("ask.html", "ask")


@pages.get("/answers/<answer_id>")
def answer_page(answer_id: str) -> Response:
    """How one answer was made; the script finds the id in the address."""
    return _page("answer.html", "answer")


@pages.get("/documents")
def documents_page() -> Response:
    """What is in the collections, and what is on its way in."""
    return _page("documents.html", "documents")


@pages.get("/quality")
def quality_page() -> Response:
    """Evaluation runs, and the answers that readers marked."""
    return _page("quality.html", "quality")


@pages.get("/keys")
def keys_page() -> Response:
    """API keys, for administrators."""
    return _page("keys.html", "keys")


@pages.get("/audit")
def audit_page() -> Response:
    """The audit log, for administrators."""
    return _page("audit.html", "audit")


def language() -> str:
    """The language of the interface for this request: the reader's choice, else the best the browser asks for."""
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    return request.accept_languages.best_match(LANGUAGES, default="en")


@cache
def strings(lang: str) -> dict[str, str]:
    """Every text of the interface in one language; scripts load the same file."""
    loaded: dict[str, str] = json.loads((STRINGS / f"{lang}.json").read_text("utf-8"))
    return loaded


def _page(template: str, name: str, **values: Any) -> Response:
    lang = language()
    theme = request.cookies.get(THEME_COOKIE, "")
    html = render_template(
        template, page=name, lang=lang, theme=theme if theme in THEMES else "", t=strings(lang), **values
    )
    response = make_response(html)
    response.headers["Cache-Control"] = "no-cache"
    response.vary.update(("Accept-Language", "Cookie"))
    return response
