"""Fetches a web address safely: http(s) only, the address resolved once and pinned, nothing inside this network.

Private, loopback, link-local and metadata addresses are refused, after redirects too; size and time are bounded;
robots.txt is honoured.
"""

import io
import ipaddress
import posixpath
import socket
import ssl
import urllib.robotparser
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import httpcore
import httpx

from folio import __version__
from folio.errors import IngestError, InvalidRequest
from ingest import reasons
from ingest.parsers.registry import suffix_of
from ingest.storage import FileStorage

USER_AGENT = f"Folio/{__version__}"
MAX_REDIRECTS = 5
TIMEOUT_S = 30.0
ROBOTS_BYTES = 500_000


@dataclass(frozen=True)
class Fetched:
    """What an address gave, stored."""

    sha256: str
    size_bytes: int
    media_type: str
    filename: str


class PinnedBackend(httpcore.SyncBackend):
    """Resolves a host once, refuses addresses that are not public, and connects to exactly the address it checked."""

    def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return super().connect_tcp(public_address(host, port), port, *args, **options)


def public_address(host: str, port: int) -> str:
    """An address of `host` that is on the public internet.

    Raises:
        IngestError: `fetch_failed` when the name is not known, `refused` when any of its addresses is not public.
    """
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError as exc:
        raise IngestError(reasons.FETCH_FAILED, f"The host {host} can't be found.") from exc
    for address in found:
        parsed = ipaddress.ip_address(str(address).split("%")[0])
        mapped = getattr(parsed, "ipv4_mapped", None) or parsed
        if not mapped.is_global or mapped.is_multicast:
            raise IngestError(
                reasons.REFUSED, f"{host} is not a public address; Folio fetches from the public web only."
            )
    return str(sorted(found, key=lambda address: ":" in str(address))[0])


def fetch(url: str, storage: FileStorage, *, max_bytes: int) -> Fetched:
    """Fetch `url` and keep its bytes.

    Raises:
        IngestError: `refused`, `fetch_failed` or `too_large`.
    """
    with _client() as client:
        try:
            return _fetch(client, url, storage, max_bytes)
        except (httpx.HTTPError, httpcore.NetworkError, ssl.SSLError, httpx.InvalidURL) as exc:
            raise IngestError(
                reasons.FETCH_FAILED, f"The address could not be fetched ({type(exc).__name__})."
            ) from exc


def _client() -> httpx.Client:
    transport = httpx.HTTPTransport(retries=0)
    transport._pool = httpcore.ConnectionPool(ssl_context=ssl.create_default_context(), network_backend=PinnedBackend())
    return httpx.Client(
        transport=transport,
        timeout=TIMEOUT_S,
        headers={"User-Agent": USER_AGENT},
        trust_env=False,
        follow_redirects=False,
    )


def _fetch(client: httpx.Client, url: str, storage: FileStorage, max_bytes: int) -> Fetched:
    for _ in range(MAX_REDIRECTS + 1):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise IngestError(reasons.REFUSED, "Only http and https addresses can be fetched.")
        _require_allowed(client, url)
        with client.stream("GET", url) as response:
            if response.is_redirect:
                url = urljoin(url, response.headers["location"])
                continue
            if response.is_error:
                raise IngestError(reasons.FETCH_FAILED, f"The server answered with status {response.status_code}.")
            body = _bounded(response, max_bytes)
            media_type = response.headers.get("content-type", "").split(";")[0].strip()
            stored = storage.store(io.BytesIO(body), filename=url, max_bytes=max_bytes)
            return Fetched(stored.sha256, stored.size_bytes, media_type, _filename(parts.path, media_type))
    raise IngestError(reasons.FETCH_FAILED, "The address redirects too often.")


def _bounded(response: httpx.Response, max_bytes: int) -> bytes:
    body = bytearray()
    for block in response.iter_bytes():
        body += block
        if len(body) > max_bytes:
            raise IngestError(reasons.TOO_LARGE, f"The address gives more than {max_bytes // 2**20} MiB.")
    return bytes(body)


def _require_allowed(client: httpx.Client, url: str) -> None:
    robots_url = urljoin(url, "/robots.txt")
    try:
        with client.stream("GET", robots_url) as response:
            text = _bounded(response, ROBOTS_BYTES).decode("utf-8", "replace") if response.is_success else ""
    except httpx.HTTPError:
        return  # no rules to be had; the page itself will say whether the server is there
    rules = urllib.robotparser.RobotFileParser(robots_url)
    rules.parse(text.splitlines())
    if not rules.can_fetch(USER_AGENT, url):
        raise IngestError(reasons.REFUSED, "The site's robots.txt asks not to fetch this page.")


def _filename(path: str, media_type: str) -> str:
    name = posixpath.basename(unquote(path)) or "index"
    return name if suffix_of(name) else f"{name}.{suffix_of('', media_type) or 'html'}"


def check_url(url: str) -> None:
    """Refuse at once what could never be fetched.

    Raises:
        InvalidRequest: it is not an http or https address.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidRequest(f"{url!r} is not an http or https address.")
