"""Fetches web addresses safely: http(s) only, each name resolved once and pinned, nothing inside this network.

Private, loopback, link-local and metadata addresses are refused, after redirects too; size and time are bounded, the
time in all and not only that of each read; robots.txt is honoured.
"""

import io
import ipaddress
import posixpath
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urljoin, urlsplit

import httpcore
import httpx
from protego import Protego

from folio import __version__
from folio.errors import IngestError, InvalidRequest
from ingest import reasons
from ingest.parsers.registry import media_type_of, suffix_of
from ingest.storage import FileStorage

USER_AGENT = f"Folio/{__version__}"
MAX_REDIRECTS = 5
TIMEOUT_S = 30.0  # of one read
TOTAL_S = 120.0  # of one fetch, its redirects and the site's robots.txt included
ROBOTS_BYTES = 500_000
VAGUE_TYPES = ("", "text/plain", "application/octet-stream", "binary/octet-stream")
INSIDE_NAMES = ("localhost", ".localhost", ".local", ".internal", ".home.arpa")
ENDS_IN_A_NUMBER = re.compile(r"(^|\.)(0x[0-9a-f]*|[0-9]+)$")  # such a host is an IPv4 address to browsers, in any base


@dataclass(frozen=True)
class Fetched:
    """What an address gave, stored."""

    sha256: str
    size_bytes: int
    media_type: str
    filename: str


@dataclass(frozen=True)
class WebFile:
    """What an address gave; `url` is where it was in the end."""

    url: str
    body: bytes
    media_type: str

    @property
    def filename(self) -> str:
        """A name for it whose suffix tells its kind."""
        return _filename(urlsplit(self.url).path, self.media_type)


class _Clock:
    """The time that is left of a fetch."""

    def __init__(self, total_s: float) -> None:
        self._total_s = total_s
        self._end = 0.0

    def start(self) -> None:
        self._end = time.monotonic() + self._total_s

    def left(self, timeout: float | None) -> float:
        """What of `timeout` seconds fits into it.

        Raises:
            IngestError: `fetch_failed` when it is over.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise IngestError(reasons.FETCH_FAILED, f"The address did not answer in full within {self._total_s:.0f} s.")
        return min(left, timeout if timeout is not None else left)


class PinnedBackend(httpcore.SyncBackend):
    """Resolves a host once, refuses addresses that are not public, and connects to exactly the address it checked."""

    def __init__(self, clock: _Clock) -> None:
        self._clock = clock

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        address = public_address(host, port)
        stream = super().connect_tcp(address, port, self._clock.left(timeout), local_address, socket_options)
        return _TimedStream(stream, self._clock)


class _TimedStream(httpcore.NetworkStream):
    """A connection whose reads together end when the clock says so: a server that drips bytes holds nobody."""

    def __init__(self, stream: httpcore.NetworkStream, clock: _Clock) -> None:
        self._stream = stream
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._clock.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._clock.left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._clock.left(timeout))
        return _TimedStream(stream, self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def public_address(host: str, port: int) -> str:
    """An address of `host` that is on the public internet.

    Raises:
        IngestError: `fetch_failed` when the name is not known, `refused` when any of its addresses is not public.
    """
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError as exc:
        raise IngestError(reasons.FETCH_FAILED, f"The host {host} can't be found.") from exc
    if not all(map(_is_public, found)):
        raise IngestError(reasons.REFUSED, f"{host} is not a public address; Folio fetches from the public web only.")
    return min(found, key=lambda address: (":" in address, address))


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    mapped = getattr(parsed, "ipv4_mapped", None) or parsed
    return bool(mapped.is_global) and not mapped.is_multicast


class Web:
    """Fetches while it is open, keeping connections and the sites' rules for robots.

    Args:
        total_s: seconds one fetch may take in all.
    """

    def __init__(self, *, total_s: float = TOTAL_S) -> None:
        self._clock = _Clock(total_s)
        self._rules: dict[str, Protego] = {}
        transport = httpx.HTTPTransport(retries=0)
        transport._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(), network_backend=PinnedBackend(self._clock)
        )
        self._client = httpx.Client(
            transport=transport, timeout=TIMEOUT_S, headers={"User-Agent": USER_AGENT}, trust_env=False,
            follow_redirects=False,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, url: str, *, max_bytes: int, wanted: Callable[[WebFile], bool] = lambda _: True) -> WebFile:
        """What `url` gives.

        Args:
            wanted: asked once kind and final address are known, before the bytes are read.

        Raises:
            IngestError: `refused`, `fetch_failed`, `too_large`, or `unsupported` for what is not wanted.
        """
        with self._timed():
            return self._get(url, max_bytes, wanted, obeys=True)

    def rules(self, url: str) -> Protego:
        """What the site's robots.txt says; nothing is forbidden where there is none (RFC 9309).

        Raises:
            IngestError: `fetch_failed` while the site can't give it.
        """
        with self._timed():
            return self._rules_of(url)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        self._clock.start()
        try:
            yield
        except (httpx.HTTPError, httpcore.NetworkError, ssl.SSLError, httpx.InvalidURL) as exc:
            raise IngestError(
                reasons.FETCH_FAILED, f"The address could not be fetched ({type(exc).__name__})."
            ) from exc

    def _rules_of(self, url: str) -> Protego:
        robots_url = urljoin(url, "/robots.txt")
        if robots_url not in self._rules:
            try:
                text = self._get(robots_url, ROBOTS_BYTES, lambda _: True, obeys=False).body.decode("utf-8", "replace")
            except _Status as answer:
                if answer.status >= 500:
                    raise
                text = ""
            self._rules[robots_url] = Protego.parse(text)
        return self._rules[robots_url]

    def _get(self, url: str, max_bytes: int, wanted: Callable[[WebFile], bool], *, obeys: bool) -> WebFile:
        for _ in range(MAX_REDIRECTS + 1):
            _require_outside(url)
            if obeys and not self._rules_of(url).can_fetch(url, USER_AGENT):
                raise IngestError(reasons.REFUSED, "The site's robots.txt asks not to fetch this page.")
            with self._client.stream("GET", url) as response:
                if response.is_redirect:
                    url = urljoin(url, response.headers["location"])
                    continue
                if response.is_error:
                    raise _Status(response.status_code, urlsplit(url).path)
                media_type = response.headers.get("content-type", "").split(";")[0].strip()
                if not wanted(WebFile(url, b"", media_type)):
                    raise IngestError(reasons.UNSUPPORTED, "The address gives something of another kind.")
                return WebFile(url, _bounded(response, max_bytes), media_type)
        raise IngestError(reasons.FETCH_FAILED, f"The address redirects more than {MAX_REDIRECTS} times.")


class _Status(IngestError):
    """A server's answer that is no page."""

    def __init__(self, status: int, path: str) -> None:
        super().__init__(reasons.FETCH_FAILED, f"The server answered with status {status} for {path or '/'}.")
        self.status = status


def fetch(url: str, storage: FileStorage, *, max_bytes: int, total_s: float = TOTAL_S) -> Fetched:
    """Fetch `url` and keep its bytes.

    Args:
        total_s: seconds it may take in all.

    Raises:
        IngestError: `refused`, `fetch_failed` or `too_large`.
    """
    with Web(total_s=total_s) as web:
        return keep(web.get(url, max_bytes=max_bytes), storage)


def keep(file: WebFile, storage: FileStorage) -> Fetched:
    """Store what was fetched."""
    stored = storage.store(io.BytesIO(file.body), filename=file.url, max_bytes=len(file.body) + 1)
    return Fetched(stored.sha256, stored.size_bytes, file.media_type, file.filename)


def _bounded(response: httpx.Response, max_bytes: int) -> bytes:
    body = bytearray()
    for block in response.iter_bytes():
        body += block
        if len(body) > max_bytes:
            raise IngestError(reasons.TOO_LARGE, f"The address gives more than {max_bytes / 2**20:.3g} MiB.")
    return bytes(body)


def _filename(path: str, media_type: str) -> str:
    """A name for what an address gave: its kind is what the server says, unless that says little."""
    name = posixpath.basename(unquote(path)) or "index"
    named, told = suffix_of(name), suffix_of("", media_type)
    if named and (media_type in VAGUE_TYPES or not told or media_type_of(name) == media_type_of("", media_type)):
        return name
    if not named and not told and media_type not in VAGUE_TYPES:
        return name
    return f"{name}.{told or 'html'}"


def check_url(url: str) -> None:
    """Refuse at once what could never be fetched; what a name leads to is only known when it is fetched.

    Raises:
        InvalidRequest: it is not an http or https address, or it names a place inside this network.
    """
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as exc:
        raise InvalidRequest(f"{url!r} is not an http or https address.") from exc
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidRequest(f"{url!r} is not an http or https address.")
    if ENDS_IN_A_NUMBER.search(host) and not _is_address(host):
        raise InvalidRequest(f"{host} is neither a host's name nor an IP address as it is usually written.")
    if host.endswith(INSIDE_NAMES) or (_is_address(host) and not _is_public(host)):
        raise InvalidRequest(f"{host} is not a public address; Folio fetches from the public web only.")


def _require_outside(url: str) -> None:
    try:
        check_url(url)
    except InvalidRequest as exc:  # a redirect led there
        raise IngestError(reasons.REFUSED, exc.message) from exc


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
