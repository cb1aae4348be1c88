"""`/api/v1/keys` and `/api/v1/audit`: for administrators."""

from typing import Literal

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, ConfigDict, Field

from folio.audit import AuditLine
from folio.keys import KeyView, NewKey
from web.access import needs
from web.api.common import Body, FullText, Id, Name, PageQuery, cursor_after, problems, seen_at
from web.context import state
from web.replies import reply

keys_api = APIBlueprint("keys", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="Administration")])


class KeyBody(Body):
    """A key to make."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"name": "newsroom", "scopes": ["ask"], "collections": ["harbour"]}}
    )

    name: FullText = Field(max_length=200, description="Who or what will use it.")
    scopes: list[Literal["ask", "ingest", "admin"]] = Field(min_length=1, max_length=3)
    collections: list[Name] = Field(default_factory=list, max_length=1000, description="Empty means all collections.")


class KeyPath(BaseModel):
    """A key's id."""

    key_id: Id


class KeyPage(BaseModel):
    """Keys, newest first."""

    items: list[KeyView]
    next_cursor: str | None


class AuditQuery(BaseModel):
    """Which lines."""

    limit: int = Field(50, ge=1, le=200)
    cursor: str = Field("", pattern="^[0-9]{0,18}$", description="`next_cursor` of the page before.")


class AuditPage(BaseModel):
    """Lines of the audit log, newest first."""

    items: list[AuditLine]
    next_cursor: str | None


@keys_api.get("/keys", responses={200: KeyPage, **problems()})
@needs("admin")
def list_keys(query: PageQuery) -> Response:
    """List keys, newest first, revoked ones included; never their secrets."""
    items = state().keys.list(limit=query.limit, after=seen_at(query.cursor))
    cursor = cursor_after(items, query.limit, lambda item: (item.created_at, item.id))
    return reply(KeyPage(items=items, next_cursor=cursor))


@keys_api.post("/keys", responses={201: NewKey, **problems(413, 415)})
@needs("admin")
def create_key(body: KeyBody) -> Response:
    """Make a key. The secret is in this reply and nowhere else. The first key ends open access on loopback."""
    made = state().keys.create(body.name, body.scopes, body.collections)
    return reply(made, 201, headers={"Cache-Control": "no-store"})


@keys_api.delete("/keys/<key_id>", responses={200: KeyView, **problems()})
@needs("admin")
def revoke_key(path: KeyPath) -> Response:
    """Revoke a key, from the next request on."""
    revoked = state().keys.revoke(path.key_id)
    return reply(revoked)


@keys_api.get("/audit", responses={200: AuditPage, **problems()})
@needs("admin")
def list_audit(query: AuditQuery) -> Response:
    """Who ingested, deleted or changed keys, and when."""
    lines = state().audit.lines(query.limit, int(query.cursor) if query.cursor else None)
    return reply(AuditPage(items=lines, next_cursor=str(lines[-1].id) if len(lines) == query.limit else None))
