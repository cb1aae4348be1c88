"""Only the public web is fetched."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from folio.errors import IngestError, InvalidRequest
from ingest import fetch as fetching
from ingest.fetch import check_url, fetch, public_address
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


class Site(BaseHTTPRequestHandler):
    """`/page` has text, `/away` leads inside, `/private` is closed to robots, `/large` is too large."""

    def do_GET(self):
        body = {"/robots.txt": b"User-agent: *\nDisallow: /private", "/large": b"x" * 5000}.get(self.path, b"hello")
        self.send_response(302 if self.path == "/away" else 200)
        self.send_header("Location", "http://inside.test/secret")
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def site(monkeypatch):
    """A server that counts as public under the name `public.test`; every other name is checked as always."""
    with HTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        resolve_to(monkeypatch, "127.0.0.1")
        monkeypatch.setattr(
            fetching,
            "public_address",
            lambda host, port: "127.0.0.1" if host == "public.test" else public_address(host, port),
        )
        yield f"http://public.test:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("path", "reason"), [("/away", "refused"), ("/private", "refused"), ("/large", "too_large")])
def test_redirects_inside_closed_pages_and_floods_are_refused(site, tmp_path, path, reason):
    with pytest.raises(IngestError) as refused:
        fetch(f"{site}{path}", FileStorage(tmp_path), max_bytes=1000)
    assert refused.value.reason == reason


def test_a_page_is_fetched_and_kept(site, tmp_path):
    fetched = fetch(f"{site}/page", FileStorage(tmp_path), max_bytes=1000)
    assert FileStorage(tmp_path).path(fetched.sha256).read_bytes() == b"hello"
