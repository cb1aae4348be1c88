"""The page frames: language, theme, what a strict Content-Security-Policy asks for, and their weight."""

import json
import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from folio.errors import InvalidRequest, NotFound, StreamGone, TooManyRequests
from ingest.reasons import MEANINGS

WEB = Path(__file__).parents[2] / "web"
STATIC = WEB / "static"
PAGES = ("/", "/documents", "/quality", "/answers/0123", "/keys", "/audit")
OWN = [
    path
    for kind in ("*.js", "*.css", "*.html", "*.json")
    for path in (*STATIC.rglob(kind), *(WEB / "templates").rglob(kind))
    if "vendor" not in path.parts
]
MAX_PAGE_BYTES = 300 * 1024
IMPORT = re.compile(r"^(?:import|export) .*?[\"']([./][^\"']+)[\"'];|^import [\"']([./][^\"']+)[\"'];", re.M)


def strings(language: str) -> dict[str, str]:
    return json.loads((STATIC / "i18n" / f"{language}.json").read_text("utf-8"))


@pytest.mark.parametrize("address", PAGES)
@pytest.mark.parametrize(("asked", "expected"), [("zh-CN,zh;q=0.9,en;q=0.5", "zh-Hans"), ("en-GB", "en"), ("fr", "en")])
def test_a_page_speaks_the_browsers_language(client: FlaskClient, address: str, asked: str, expected: str) -> None:
    page = client.get(address, headers={"Accept-Language": asked})
    assert page.status_code == 200
    assert f'<html lang="{expected}"' in page.text
    assert strings("zh" if expected == "zh-Hans" else "en")["nav.documents"] in page.text


def test_the_readers_choice_beats_the_browser(client: FlaskClient) -> None:
    client.set_cookie("folio_language", "zh")
    client.set_cookie("folio_theme", "dark")
    page = client.get("/", headers={"Accept-Language": "en"})
    assert '<html lang="zh-Hans" data-lang="zh" data-theme="dark"' in page.text


def test_a_made_up_choice_is_ignored(client: FlaskClient) -> None:
    client.set_cookie("folio_language", '"><script>')
    client.set_cookie("folio_theme", '"><script>')
    page = client.get("/")
    assert '<html lang="en" data-lang="en">' in page.text


@pytest.mark.parametrize("address", PAGES)
def test_a_page_has_nothing_that_its_policy_forbids(client: FlaskClient, address: str) -> None:
    page = client.get(address)
    policy = page.headers["Content-Security-Policy"]
    assert "unsafe-inline" not in policy
    assert "unsafe-eval'" not in policy.replace("wasm-unsafe-eval", "")
    assert not re.search(r"<style|\sstyle=|\son\w+=", page.text)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page.text))


@pytest.mark.parametrize("address", PAGES)
def test_what_a_page_names_is_there(client: FlaskClient, address: str) -> None:
    for name in re.findall(r'(?:href|src)="(/static/[^"]+)"', client.get(address).text):
        with client.get(name) as reply:
            assert reply.status_code == 200, name


def test_no_other_host_is_named() -> None:
    known = ("http://www.w3.org/2000/svg",)
    for path in OWN:
        found = [url for url in re.findall(r"https?://[\w.-]+[^\s\"'`)]*", path.read_text("utf-8")) if url not in known]
        assert all(url.startswith(("https?://", 'https://"')) for url in found), (path.name, found)


def test_both_languages_have_the_same_texts_with_the_same_places() -> None:
    english, chinese = strings("en"), strings("zh")
    assert list(english) == list(chinese)
    for key, text in english.items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", chinese[key])), key


def test_every_text_that_is_used_exists() -> None:
    known = strings("en")
    for path in OWN:
        code = path.read_text("utf-8")
        used = re.findall(r"\bt\(\"([\w.]+)\"", code) + re.findall(r"t\['([\w.]+)'\]", code)
        used += [f"{key}.many" for key in re.findall(r"\bcount\(\"([\w.]+)\"", code)]
        assert not [key for key in used if key not in known], path.name


def test_every_reason_and_problem_that_a_reader_may_meet_is_said_in_both_languages() -> None:
    known = strings("zh").keys() & strings("en").keys()
    assert [code for code in MEANINGS if f"reason.{code}" not in known] == []
    met = {
        kind.code for kind in (InvalidRequest, *InvalidRequest.__subclasses__(), NotFound, StreamGone, TooManyRequests)
    }
    assert [code for code in met if f"problem.{code}" not in known] == []


def imported(module: Path, seen: set[Path]) -> set[Path]:
    """A module and all that it loads at once."""
    if module not in seen:
        seen.add(module)
        for groups in IMPORT.findall(module.read_text("utf-8")) if "vendor" not in module.parts else []:
            imported((module.parent / next(filter(None, groups))).resolve(), seen)
    return seen


@pytest.mark.parametrize("address", ["/", "/documents", "/quality", "/keys", "/audit"])
def test_a_page_weighs_at_most_300_kb(client: FlaskClient, address: str) -> None:
    page = client.get(address)
    named = {STATIC / name for name in re.findall(r'(?:href|src)="/static/([^"]+)"', page.text)}
    files = set(named)
    for path in named:
        if path.suffix == ".js":
            imported(path, files_seen := set())
            files |= files_seen
        if path.suffix == ".css":
            files |= {(path.parent / url).resolve() for url in re.findall(r'url\("([^"]+)"\)', path.read_text("utf-8"))}
    weight = len(page.data) + sum(path.stat().st_size for path in files)
    assert STATIC / "js" / "dom.js" in files
    assert weight <= MAX_PAGE_BYTES, f"{address}: {weight} bytes"
