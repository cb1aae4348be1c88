"""Only the public web is fetched."""

import socket
import time
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import httpcore
import pytest

from folio.errors import IngestError, InvalidRequest
from ingest import fetch as fetching
from ingest.fetch import WebFile, check_url, fetch, public_address
from ingest.parsers.registry import suffix_of
from ingest.service import Ingestion
from ingest.storage import FileStorage

INSIDE = ["127.0.0.1", "10.0.0.8", "192.168.1.1", "169.254.169.254", "::1", "fe80::1", "::ffff:10.0.0.1", "0.0.0.0"]


def resolve_to(monkeypatch, *addresses):
    def resolve(host, port, *args, **options):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


@pytest.mark.parametrize("address", INSIDE)
def test_a_name_that_leads_inside_is_refused(monkeypatch, address):
    resolve_to(monkeypatch, "93.184.215.14", address)
    with pytest.raises(IngestError) as refused:
        public_address("example.org", 80)
    assert refused.value.reason == "refused"


def test_a_fetch_from_inside_is_refused_before_any_connection(monkeypatch, tmp_path):
    resolve_to(monkeypatch, "127.0.0.1")
    with pytest.raises(IngestError) as refused:
        fetch("http://example.org/", FileStorage(tmp_path), max_bytes=1000)
    assert refused.value.reason == "refused"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/a", "http://", "gopher://x"])
def test_other_schemes_are_refused_at_once(url):
    with pytest.raises(InvalidRequest):
        check_url(url)


@pytest.mark.parametrize("host", [*INSIDE, "localhost", "printer.local", "metadata.google.internal", "a.localhost."])
def test_addresses_inside_are_refused_when_they_are_submitted(host, catalog, settings):
    ingestion = Ingestion(catalog, settings, None)
    with pytest.raises(InvalidRequest, match="public"):
        ingestion.submit_url("default", f"http://{f'[{host}]' if ':' in host else host}/secret")


@pytest.mark.parametrize("host", ["0177.0.0.1", "2130706433", "0x7f000001", "127.1", "0x7f.1", "example.0x1"])
def test_numbers_that_some_programs_take_for_addresses_are_refused_when_they_are_submitted(host):
    with pytest.raises(InvalidRequest, match="neither"):
        check_url(f"http://{host}/secret")


class Page(BaseHTTPRequestHandler):
    """`/page` has text, `/away` leads inside, `/round` to itself, `/private` is closed to robots,
    `/large` is too large, `/drip` never ends.
    """

    robots = (200, b"User-agent: *\nDisallow: /private\nDisallow: /*?print")

    def do_GET(self):
        body = {"/robots.txt": self.robots[1], "/large": b"x" * 5000}.get(self.path, b"hello")
        moved = {"/away": "http://inside.test/secret", "/file": "file:///etc/passwd", "/round": "/round"}
        self.send_response(302 if self.path in moved else self.robots[0] if self.path == "/robots.txt" else 200)
        self.send_header("Location", moved.get(self.path, ""))
        self.send_header("Content-Type", "text/plain")
        if self.path != "/drip":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        while self.path == "/drip":
            self.wfile.write(b".")
            time.sleep(0.05)

    def log_message(self, *args):
        pass


@pytest.fixture
def site(serve):
    return serve(Page)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/away", "refused"), ("/file", "refused"), ("/private", "refused"), ("/page?print=1", "refused"),
        ("/large", "too_large"), ("/round", "fetch_failed"),
    ],
)  # fmt: skip
def test_redirects_inside_closed_pages_and_floods_are_refused(site, tmp_path, path, reason):
    with pytest.raises(IngestError) as refused:
        fetch(f"{site}{path}", FileStorage(tmp_path), max_bytes=1000)
    assert refused.value.reason == reason


class Gate(BaseHTTPRequestHandler):
    """Sends every visitor to `target`, on its own port; `reached` counts who came in by that address."""

    target = ""
    reached: ClassVar[list[str]] = []

    def do_GET(self):
        if not self.headers["Host"].startswith("public.test"):
            self.reached.append(self.path)
        port = self.headers["Host"].rpartition(":")[2]
        self.send_response(404 if self.path == "/robots.txt" else 302)
        self.send_header("Location", f"http://{self.target}:{port}/secret")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


LITERALS = ["169.254.169.254", "127.0.0.1", "[::1]", "10.0.0.1", "[::ffff:127.0.0.1]", "localhost"]


@pytest.mark.parametrize(
    ("target", "check"),
    [
        *((target, "of the address written") for target in LITERALS),
        *((target, "of the address resolved") for target in [*LITERALS, "inside.test"]),
    ],
)
def test_each_check_alone_refuses_a_redirect_inside_before_any_connection(serve, tmp_path, monkeypatch, target, check):
    connected = []

    def connect(self, host, *args, **options):
        connected.append(host)
        return really_connect(self, host, *args, **options)

    really_connect = httpcore.SyncBackend.connect_tcp
    reached = []
    site = serve(type("Away", (Gate,), {"target": target, "reached": reached}))
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    if check == "of the address written":
        monkeypatch.setattr(fetching, "public_address", lambda host, port: "127.0.0.1")
    else:
        monkeypatch.setattr(fetching, "_require_outside", lambda url: None)
    with pytest.raises(IngestError) as refused:
        fetch(f"{site}/page", FileStorage(tmp_path), max_bytes=1000, total_s=5)
    assert refused.value.reason == "refused"
    assert (len(connected), reached) == (2, []), "for robots.txt and the page, never for what lies inside"


def test_a_page_is_fetched_and_kept(site, tmp_path):
    fetched = fetch(f"{site}/page", FileStorage(tmp_path), max_bytes=1000)
    assert FileStorage(tmp_path).path(fetched.sha256).read_bytes() == b"hello"


def test_a_server_that_drips_its_page_is_given_up_in_time(site, tmp_path):
    began = time.monotonic()
    with pytest.raises(IngestError) as given_up:
        fetch(f"{site}/drip", FileStorage(tmp_path), max_bytes=10**6, total_s=0.5)
    assert given_up.value.reason == "fetch_failed"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(("robots", "reason"), [((404, b"Disallow: /"), None), ((503, b""), "fetch_failed")])
def test_a_site_without_rules_is_open_and_one_that_cannot_give_them_is_left_alone(serve, tmp_path, robots, reason):
    site = serve(type("Ruled", (Page,), {"robots": robots}))
    if reason is None:
        assert fetch(f"{site}/page", FileStorage(tmp_path), max_bytes=1000).size_bytes == 5
    else:
        with pytest.raises(IngestError) as refused:
            fetch(f"{site}/page", FileStorage(tmp_path), max_bytes=1000)
        assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("path", "media_type", "suffix"),
    [
        ("/", "text/html", "html"), ("/", "", "html"), ("/show.php", "text/html", "html"),
        ("/paper", "application/pdf", "pdf"), ("/x.py", "text/plain", "py"), ("/notes", "text/plain", "txt"),
        ("/a.docx", "application/octet-stream", "docx"), ("/picture.png", "image/png", ""), ("/x", "image/png", ""),
    ],
)  # fmt: skip
def test_the_kind_of_what_was_fetched_is_what_the_server_says(path, media_type, suffix):
    assert suffix_of(WebFile(f"http://a.org{path}", b"", media_type).filename) == suffix
