"""Walks a site: by its links to a depth, or by its map. One page at a time, as slowly as its robots.txt asks.

Only pages of the same host are taken, each once under its canonical address, and only of kinds that Folio reads.
"""

import time
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from urllib.parse import urldefrag, urljoin, urlsplit

from courlan import normalize_url
from lxml import etree, html

from folio.errors import IngestError
from folio.log import get_logger
from ingest import reasons
from ingest.fetch import USER_AGENT, Web, WebFile
from ingest.parsers.registry import suffix_of
from ingest.site import Site

DELAY_S = 0.5  # between two pages where robots.txt asks for none
MAX_DELAY_S = 10.0  # no site is given more time than this between two pages
MAX_SITEMAPS = 50
SITEMAP_BYTES = 50 * 2**20  # of the sitemaps protocol, unpacked
ELSEWHERE = ("mailto:", "tel:", "javascript:", "data:", "#")
SAFE_XML = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
HTML_TYPES = ("text/html", "application/xhtml+xml")

log = get_logger(__name__)


class SiteWalk:
    """One walk over a site; `left_out` counts what was not taken, by reason: a code of `reasons`, `elsewhere` for
    pages that led to another host, `limit` when the walk ended early.

    Args:
        web: what to fetch with.
        max_bytes: of one page.
        wait: sleeps for so many seconds.
    """

    def __init__(self, web: Web, site: Site, *, max_bytes: int, wait: Callable[[float], None] = time.sleep) -> None:
        self._web = web
        self._site = site
        self._max_bytes = max_bytes
        self._wait = wait
        self._host = urlsplit(site.url).netloc.lower()
        self._asked: set[str] = set()
        self._taken: set[str] = set()
        self._fetched = 0
        self.left_out: Counter[str] = Counter()

    def pages(self) -> Iterator[WebFile]:
        """The site's pages as they are found, the first of a crawl being where it starts.

        Raises:
            IngestError: the first page, or the map, could not be had.
        """
        for page in self._by_links() if self._site.depth is not None else self._by_map():
            yield page
            if len(self._taken) == self._site.max_pages:
                self.left_out["limit"] += 1
                return

    def _by_links(self) -> Iterator[WebFile]:
        waiting = deque([(self._site.url, 0)])
        while waiting:
            url, depth = waiting.popleft()
            page = self._page(url, is_first=depth == 0)
            if page is None:
                continue
            yield page
            if depth < (self._site.depth or 0) and page.media_type in HTML_TYPES:
                waiting.extend((link, depth + 1) for link in links(page))

    def _by_map(self) -> Iterator[WebFile]:
        for url in self._mapped():
            page = self._page(url, is_first=False)
            if page is not None:
                yield page

    def _page(self, url: str, *, is_first: bool) -> WebFile | None:
        """A page not seen yet, under its own address; None for what is not taken."""
        url = canonical(url)
        if url in self._asked or not (is_first or self._is_of_host(url)):
            return None
        self._asked.add(url)
        try:
            page = self._get(url, self._max_bytes, lambda file: bool(suffix_of(file.filename, file.media_type)))
        except IngestError as exc:
            if is_first:
                raise
            self.left_out[exc.reason] += 1
            log.info("page left out", url=url, reason=exc.reason)
            return None
        if is_first:
            self._host = urlsplit(page.url).netloc.lower()
        address = canonical(page.url)
        if not self._is_of_host(address):
            self.left_out["elsewhere"] += 1
            return None
        stated = canonical_of(page)
        own = stated if stated and self._is_of_host(stated) else address
        self._asked |= {address, own}
        if own in self._taken:
            return None
        self._taken.add(own)
        return WebFile(own, page.body, page.media_type)

    def _get(self, url: str, max_bytes: int, wanted: Callable[[WebFile], bool]) -> WebFile:
        if self._fetched:
            asked = self._web.rules(url).crawl_delay(USER_AGENT)
            self._wait(min(MAX_DELAY_S, DELAY_S if asked is None else float(asked)))
        self._fetched += 1
        return self._web.get(url, max_bytes=max_bytes, wanted=wanted)

    def _is_of_host(self, url: str) -> bool:
        return urlsplit(url).netloc.lower() == self._host

    def _mapped(self) -> Iterator[str]:
        """The addresses in the site's map, and in the maps that it names."""
        stated = [urljoin(self._site.url, found) for found in self._web.rules(self._site.url).sitemaps]
        own = self._site.url if urlsplit(self._site.url).path.endswith((".xml", ".xml.gz")) else ""
        waiting = deque([own] if own else stated or [urljoin(self._site.url, "/sitemap.xml")])
        read: set[str] = set()
        while waiting and len(read) < MAX_SITEMAPS:
            url = waiting.popleft()
            if url in read or not self._is_of_host(url):
                continue
            read.add(url)
            root = etree.fromstring(_unpacked(self._get(url, SITEMAP_BYTES, lambda _: True).body), SAFE_XML)
            if root is None:
                raise IngestError(reasons.FETCH_FAILED, f"{url} is not a sitemap.")
            found = [(node.text or "").strip() for node in root.iterfind("{*}*/{*}loc")]
            if etree.QName(root).localname == "sitemapindex":
                waiting.extend(found)
            else:
                yield from found
        self.left_out["limit"] += len(waiting)


def canonical(url: str) -> str:
    """An address in the one form under which it is known: no fragment, no tracking parameters, a path."""
    plain: str = normalize_url(urldefrag(url)[0])
    return plain if urlsplit(plain).path else f"{plain}/"


def canonical_of(page: WebFile) -> str:
    """The address that a page says is its own; empty where it says none."""
    if page.media_type not in HTML_TYPES:
        return ""
    hrefs = _tree(page).xpath("//link[translate(@rel, 'CANOIL', 'canoil') = 'canonical']/@href")
    return canonical(urljoin(page.url, hrefs[0].strip())) if hrefs else ""


def links(page: WebFile) -> list[str]:
    """The addresses that a page links to, in order; none where it asks robots not to follow them."""
    tree = _tree(page)
    if any("nofollow" in asked.lower() for asked in tree.xpath("//meta[@name='robots']/@content")):
        return []
    base = urljoin(page.url, next(iter(tree.xpath("//base/@href")), ""))
    hrefs = [href.strip() for href in tree.xpath("//a/@href")]
    return list(dict.fromkeys(urljoin(base, href) for href in hrefs if href and not href.startswith(ELSEWHERE)))


def _tree(page: WebFile) -> html.HtmlElement:
    try:
        return html.document_fromstring(page.body, base_url=page.url)
    except (etree.ParserError, ValueError):
        return html.document_fromstring("<html></html>")


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(b"\x1f\x8b"):
        return body
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(body, SITEMAP_BYTES)
    except zlib.error as exc:
        raise IngestError(reasons.FETCH_FAILED, "The sitemap is damaged.") from exc
