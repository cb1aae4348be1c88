"""Decides who a request comes from, before any handler runs.

While Folio listens on loopback and no key exists, everyone on this machine may do everything. As soon as a key exists,
or Folio listens elsewhere, each request needs one: as `Authorization: Bearer`, or as the cookie that signing in sets.
"""

import ipaddress
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

from flask import Flask, current_app, g, request, session

from folio.actor import acting_as
from folio.catalog import Catalog
from folio.errors import ConfigurationError, Unauthenticated
from folio.keys import KeyStore, KeyView
from folio.settings import Settings
from web.context import EVERYONE, Caller, require, state

View = TypeVar("View", bound=Callable[..., Any])


def check_exposure(settings: Settings, catalog: Catalog) -> None:
    """Refuse to listen where others can reach an unprotected Folio.

    Raises:
        ConfigurationError: the address is not loopback and no key exists.
    """
    if not is_loopback(settings.host) and not KeyStore(catalog).any_active():
        raise ConfigurationError(
            f"Folio won't listen on {settings.host} without API keys: anyone who can reach it could read and delete "
            "documents. Make a key with `folio keys create NAME --scope admin`, or set FOLIO_HOST=127.0.0.1."
        )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def needs(scope: str) -> Callable[[View], View]:
    """Mark a handler with the scope its caller must have; `""` lets anybody in, signed in or not."""

    def mark(view: View) -> View:
        view.folio_scope = scope  # type: ignore[attr-defined]
        return view

    return mark


def register_access(app: Flask) -> None:
    """Identify the caller of every request and hold each handler to its scope."""
    app.before_request(_admit)
    app.teardown_request(_depart)


def identify() -> Caller | None:
    """The caller, or None when a key is needed and no valid one came with the request.

    Raises:
        Unauthenticated: a key was sent that is wrong or revoked.
    """
    keys = state().keys
    if is_open():
        return EVERYONE  # whatever key came along: OpenAI clients can't be made without one
    if presented := _presented_key():
        key = keys.authenticate(presented)
        if key is None:
            raise Unauthenticated("This API key is not known, or it was revoked.")
        return _caller(key, "key")
    if key_id := session.get("key_id"):
        key = keys.active(str(key_id))
        if key is not None:
            return _caller(key, "cookie")
        session.clear()
    return None


def is_open() -> bool:
    """Whether no key is needed: Folio listens on loopback only, and nobody made a key."""
    return is_loopback(state().services.settings.host) and not state().keys.any_active()


def _presented_key() -> str:
    kind, _, value = request.headers.get("Authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else ""


def _caller(key: KeyView, by: str) -> Caller:
    collections = frozenset(key.collections) or None
    return Caller(key_id=key.id, name=key.name, scopes=frozenset(key.scopes), collections=collections, by=by)


def _admit() -> None:
    found = identify()
    g.caller = found or Caller(collections=frozenset(), by="nobody")
    g.acting = ExitStack()
    g.acting.enter_context(acting_as(g.caller.key_id))
    endpoint = request.endpoint
    if endpoint is None or endpoint == "static" or endpoint.endswith(".static"):
        return
    scope = scope_of(endpoint)
    if not scope:
        return
    if found is None:
        raise Unauthenticated("Send an API key as `Authorization: Bearer <key>`, or sign in on the page.")
    require(scope)


def _depart(_error: BaseException | None) -> None:
    if acting := g.pop("acting", None):
        acting.close()


def scope_of(endpoint: str) -> str:
    """The scope that an endpoint was marked with; pages hold no data and are open, what is not marked is for admins."""
    if endpoint.startswith("pages."):
        return ""
    return str(getattr(current_app.view_functions[endpoint], "folio_scope", "admin"))
