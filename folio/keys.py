"""API keys: made once, shown once, stored as a hash, revocable.

The key is 256 random bits, so a plain SHA-256 of it is enough: a slow password hash guards secrets that can be guessed,
and would cost every request its time. Access decisions are made in `web/access.py`.
"""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from pydantic import BaseModel, Field
from sqlalchemy import and_, or_, select, update

from folio.audit import record
from folio.catalog import Catalog
from folio.catalog.models import ApiKey, now
from folio.errors import InvalidRequest, NotFound

SCOPES = ("ask", "ingest", "admin")
PREFIX = "folio_"
LAST_USE_RESOLUTION = timedelta(minutes=1)


class KeyView(BaseModel):
    """What may be known of a key after its creation. Empty `collections` means all of them."""

    id: str
    name: str
    scopes: list[str]
    collections: list[str]
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewKey(KeyView):
    """A key just made, with the secret that is shown this once."""

    key: str = Field(description="Send it as `Authorization: Bearer <key>`. It can't be shown again.")


class KeyStore:
    """The API keys in the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def create(self, name: str, scopes: Iterable[str], collections: Iterable[str] = ()) -> NewKey:
        """Make a key.

        Raises:
            InvalidRequest: the name is empty, a scope is unknown, or an administrator is to be limited.
        """
        wanted, limits = sorted(set(scopes)), sorted(set(collections))
        unknown = [scope for scope in wanted if scope not in SCOPES]
        if not name.strip() or not wanted or unknown:
            raise InvalidRequest(f"A key needs a name and at least one scope of {', '.join(SCOPES)}.")
        if "admin" in wanted and limits:
            raise InvalidRequest(
                "A key with the scope `admin` can't be limited to collections, because it may make keys without limits."
            )
        secret = PREFIX + secrets.token_urlsafe(32)
        row = ApiKey(name=name.strip(), hash=_digest(secret), scopes=wanted, collections=limits)
        with self._catalog.write() as session:
            session.add(row)
            session.flush()
            record(session, "key.create", row.id, name=row.name, scopes=row.scopes)
            return NewKey(key=secret, **_view(row).model_dump())

    def list(self, *, limit: int | None = None, after: tuple[datetime, str] | None = None) -> list[KeyView]:
        """Keys, newest first, revoked ones included; `after`: time and id of the last one already seen."""
        query = select(ApiKey).order_by(ApiKey.created_at.desc(), ApiKey.id).limit(limit)
        if after is not None:
            moment, key = after
            older = or_(ApiKey.created_at < moment, and_(ApiKey.created_at == moment, ApiKey.id > key))
            query = query.where(older)
        with self._catalog.read() as session:
            return [_view(row) for row in session.scalars(query)]

    def revoke(self, key_id: str) -> KeyView:
        """Make a key useless from the next request on; revoking twice changes nothing.

        Raises:
            NotFound: there is no key with this id.
        """
        with self._catalog.write() as session:
            row = session.get(ApiKey, key_id)
            if row is None:
                raise NotFound(f"There is no key {key_id!r}. `folio keys list` shows the keys.")
            if row.revoked_at is None:
                row.revoked_at = now()
                record(session, "key.revoke", row.id, name=row.name)
            return _view(row)

    def any_active(self) -> bool:
        """Whether a key exists that was not revoked."""
        with self._catalog.read() as session:
            return session.scalar(select(ApiKey.id).where(ApiKey.revoked_at.is_(None)).limit(1)) is not None

    def authenticate(self, secret: str) -> KeyView | None:
        """The active key with this secret, its last use recorded (to the minute); None if there is none."""
        return self._active(ApiKey.hash == _digest(secret))

    def active(self, key_id: str) -> KeyView | None:
        """The key with this id if it was not revoked, its last use recorded (to the minute)."""
        return self._active(ApiKey.id == key_id)

    def _active(self, condition: object) -> KeyView | None:
        with self._catalog.read() as session:
            row = session.scalar(select(ApiKey).where(condition, ApiKey.revoked_at.is_(None)))  # type: ignore[arg-type]
            view = _view(row) if row else None
        if view and (view.last_used_at is None or now() - view.last_used_at > LAST_USE_RESOLUTION):
            with self._catalog.write() as session:
                session.execute(update(ApiKey).where(ApiKey.id == view.id).values(last_used_at=now()))
        return view


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _view(row: ApiKey) -> KeyView:
    return KeyView.model_validate(row, from_attributes=True)
