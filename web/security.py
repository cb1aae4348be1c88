"""What keeps other sites and other pages out: host check, cross-site check, sessions, security headers.

A page on another site can make a reader's browser send requests to Folio, with its cookies, or to an open Folio on the
reader's own machine. So anything that changes state must come from Folio's own pages or carry an API key in a header,
which another site can't set; and a name that merely resolves to this machine (DNS rebinding) is not answered.
"""

import contextlib
import os
import secrets
import tempfile
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from flask import Flask, Response, request
from flask.sessions import SecureCookieSessionInterface

from folio.errors import Forbidden
from folio.settings import Settings
from web.access import is_loopback
from web.context import caller
from web.errors import NotAcceptedByHttp

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",  # pdf.js decodes some images by WebAssembly
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "manifest-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
}
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SESSION_HOURS = 12


class SessionInterface(SecureCookieSessionInterface):
    """Flask's signed cookie, marked Secure whenever the request came by https."""

    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure


def register_security(app: Flask, settings: Settings) -> None:
    """Install the checks and headers. Call after `register_access`: the cross-site check needs the caller."""
    app.secret_key = _session_secret(settings.data_dir / "session-secret")
    app.session_interface = SessionInterface()
    app.config.update(
        SESSION_COOKIE_NAME="folio_session",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=timedelta(hours=SESSION_HOURS),
    )
    app.before_request(_refuse_cross_site)
    app.after_request(_add_headers)


def register_host_check(app: Flask, settings: Settings) -> None:
    """Answer only to the host names that reach this server. Call before anything else looks at the request."""
    allowed = {name.strip().lower() for name in settings.allowed_hosts.split(",") if name.strip()}

    def check_host() -> None:
        name = (urlsplit(f"//{request.host}").hostname or "").lower()
        if name in allowed or (not allowed and not is_loopback(settings.host)) or is_loopback(name):
            return
        raise NotAcceptedByHttp(
            421, f"This Folio does not answer to the host name {name!r}. FOLIO_ALLOWED_HOSTS lists further names."
        )

    app.before_request(check_host)


def _refuse_cross_site() -> None:
    if request.method in SAFE_METHODS or caller().by == "key":
        return
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    foreign_site = site is not None and site not in ("same-origin", "none")
    foreign_origin = origin is not None and urlsplit(origin).netloc != request.host
    if foreign_site or foreign_origin:
        raise Forbidden("This request came from another site. Use Folio's own page, or send an API key.")


def _add_headers(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.is_secure:
        response.headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    return response


def _session_secret(path: Path) -> bytes:
    """The key that signs session cookies, made once and readable by its owner only."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent) as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            with contextlib.suppress(FileExistsError):  # another process was first; its key counts
                os.link(file.name, path)
    return path.read_bytes()
