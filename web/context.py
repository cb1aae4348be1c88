"""What a request handler may reach: the services, the key store, the audit log, and who is calling."""

from dataclasses import dataclass, field
from typing import cast

from flask import current_app, g

from folio.audit import AuditLog
from folio.errors import Forbidden, NotFound
from folio.keys import SCOPES, KeyStore
from folio.services import Services
from web.streams import AnswerStreams


@dataclass(frozen=True)
class WebState:
    """Everything the web part keeps for the life of the process."""

    services: Services
    keys: KeyStore
    audit: AuditLog
    streams: AnswerStreams


@dataclass(frozen=True)
class Caller:
    """Who makes this request and what they may do. `collections` None means all."""

    key_id: str = ""
    name: str = ""
    scopes: frozenset[str] = frozenset()
    collections: frozenset[str] | None = None
    by: str = field(default="open")  # open, key, or cookie

    def allows(self, scope: str) -> bool:
        """Whether a scope is granted; `admin` grants all."""
        return scope in self.scopes or "admin" in self.scopes

    def sees(self, collection: str) -> bool:
        """Whether a collection exists as far as this caller may know."""
        return self.collections is None or collection in self.collections

    def owns(self, owner: str) -> bool:
        """Whether something that `owner` made may be shown: one's own, or anything to an administrator."""
        return self.key_id == owner or "admin" in self.scopes


EVERYONE = Caller(scopes=frozenset(SCOPES))


def state() -> WebState:
    """The web part's state."""
    return cast(WebState, current_app.extensions["folio"])


def services() -> Services:
    """The parts of this Folio."""
    return state().services


def caller() -> Caller:
    """The caller of this request."""
    return cast(Caller, g.caller)


def visible(collection: str) -> str:
    """The name itself, if the caller may know that such a collection exists.

    Raises:
        NotFound: worded exactly as for a collection that does not exist, so that nothing can be learnt from it.
    """
    if not caller().sees(collection):
        raise NotFound(f"There is no collection named {collection!r}. `folio collections` lists those there are.")
    return collection


def require(scope: str) -> None:
    """Let the request go on only with this scope.

    Raises:
        Forbidden: the key lacks it.
    """
    if not caller().allows(scope):
        raise Forbidden(f"This needs a key with the scope `{scope}`; yours has {', '.join(sorted(caller().scopes))}.")
