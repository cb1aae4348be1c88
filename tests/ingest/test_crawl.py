"""A site is walked politely, each page once, and its pages go into the job as they are found."""

import gzip
from http.server import BaseHTTPRequestHandler

import pytest

from folio.errors import IngestError, InvalidRequest
from ingest.crawl import MAX_DELAY_S, SiteWalk, canonical
from ingest.fetch import Web
from ingest.service import Ingestion
from ingest.site import Site

PAGES = {
    "/": '<a href="/a">A</a> <a href="b?utm_source=x#top">B</a> <a href="http://other.test/">away</a>'
    '<a href="/closed/x">no</a> <a href="/picture.png">picture</a> <a href="/gone">gone</a>',
    "/a": '<a href="/a/deep">deep</a> <a href="/twin">twin</a> <a href="/">home</a>',
    "/b": "<p>The library closes at nine.</p>",
    "/twin": '<link rel="canonical" href="/a"><p>The same as A.</p>',
    "/a/deep": '<a href="/a/deeper">deeper</a>',
    "/a/deeper": "<p>Three links from the start.</p>",
}


class Library(BaseHTTPRequestHandler):
    """Some pages; `/closed` is closed to robots."""

    maps: str | None = None

    def do_GET(self):
        host = f"http://{self.headers['Host']}"
        status, kind, body = 200, "text/html; charset=utf-8", PAGES.get(self.path, "").encode()
        if self.path == "/robots.txt":
            kind, body = "text/plain", b"User-agent: *\nDisallow: /closed\nCrawl-delay: 100\n"
            body += f"Sitemap: {host}/maps.xml\n".encode() if self.maps else b""
        elif self.path == "/maps.xml":
            body = f"<sitemapindex><sitemap><loc>{host}/map.xml.gz</loc></sitemap></sitemapindex>".encode()
        elif self.path == "/map.xml.gz":
            names = ["/b", "/a", "/b#again", "/closed/y"]
            urls = "".join(f"<url><loc>{host}{name}</loc></url>" for name in names)
            foreign = "<url><loc>http://other.test/</loc></url>"
            xmlns = "http://www.sitemaps.org/schemas/sitemap/0.9"
            body = gzip.compress(f'<urlset xmlns="{xmlns}">{urls}{foreign}</urlset>'.encode())
        elif self.path == "/picture.png":
            kind, body = "image/png", b"\x89PNG"
        elif self.path not in PAGES:
            status = 404
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Mapped(Library):
    maps = "yes"


def walk(site: Site) -> tuple[list[str], SiteWalk, list[float]]:
    waits: list[float] = []
    with Web() as web:
        steps = SiteWalk(web, site, max_bytes=10_000, wait=waits.append)
        found = [page.url.split("public.test", 1)[1].split("/", 1)[1] for page in steps.pages()]
    return found, steps, waits


@pytest.mark.parametrize(("depth", "found"), [(0, [""]), (1, ["", "a", "b"]), (2, ["", "a", "b", "a/deep"])])
def test_links_are_followed_to_the_depth_asked_for_and_each_page_is_taken_once(serve, depth, found):
    assert walk(Site(f"{serve(Library)}/", depth))[0] == found


def test_what_is_left_out_is_counted_and_the_sites_delay_is_kept_within_bounds(serve):
    _, steps, waits = walk(Site(f"{serve(Library)}/", 1))
    assert steps.left_out == {"refused": 1, "unsupported": 1, "fetch_failed": 1}
    assert set(waits) == {MAX_DELAY_S}


def test_a_walk_ends_at_its_limit_and_says_so(serve):
    found, steps, _ = walk(Site(f"{serve(Library)}/", 3, max_pages=2))
    assert found == ["", "a"]
    assert steps.left_out["limit"] == 1


def test_a_map_gives_its_pages_through_an_index_and_packed(serve):
    found, steps, _ = walk(Site(f"{serve(Mapped)}/", None))
    assert found == ["b", "a"]
    assert steps.left_out == {"refused": 1, "limit": 0}


def test_a_site_that_is_not_there_fails(serve):
    with pytest.raises(IngestError):
        walk(Site(f"{serve(Library)}/gone", 1))


def test_an_address_has_one_form():
    assert canonical("HTTP://Example.org:80?utm_medium=x#y") == "http://example.org/"


def test_a_site_is_written_as_the_uri_of_an_item():
    for site in (Site("https://a.org/x", 2, 9), Site("https://a.org/x", None, 9)):
        assert Site.of(site.uri) == site
    assert Site.of("https://a.org/") is None
    for wrong in ("crawl:x:1:http://a.org", "crawl:2", "sitemap:0:http://a.org", "crawl:99:1:http://a.org"):
        with pytest.raises(InvalidRequest):
            Site.of(wrong)


def test_a_site_inside_is_refused_when_it_is_submitted(catalog, settings):
    with pytest.raises(InvalidRequest, match="public"):
        Ingestion(catalog, settings, None).submit_paths("default", [Site("http://127.0.0.1/", 1).uri])


def test_the_pages_of_a_site_become_documents_of_its_job(serve, monkeypatch, folio):
    monkeypatch.setattr("ingest.crawl.MAX_DELAY_S", 0.01)
    job = folio.work(folio.ingestion.submit_url("default", Site(f"{serve(Library)}/", 1).uri))
    site, *pages = job.items
    assert site.reason.startswith("3 pages found; left out: ")
    assert {page.uri.rsplit("/", 1)[-1]: page.state for page in pages} == {"": "done", "a": "done", "b": "done"}
