"""`/api/v1/session`: who am I; sign in with an API key, so that the page can work with a cookie; sign out."""

from typing import Literal

from flask import Response, session
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, Field

from folio.errors import Unauthenticated
from web.access import is_open, needs
from web.api.common import Body, Text, problems
from web.context import caller, state
from web.replies import reply

session_api = APIBlueprint("session", __name__, url_prefix="/api/v1/session", abp_tags=[Tag(name="Session")])


class SignIn(Body):
    """A key to sign in with."""

    key: Text = Field(min_length=1, max_length=500)


class SessionView(BaseModel):
    """The caller, as Folio sees them."""

    access: Literal["open", "keys"] = Field(description="`open`: no key is needed here.")
    signed_in: bool
    name: str
    scopes: list[str]
    collections: list[str] | None = Field(description="None means all.")


@session_api.get("", responses={200: SessionView, **problems()})
@needs("")
def who_am_i() -> Response:
    """Who the caller is and what they may do."""
    return reply(_view(), headers={"Cache-Control": "no-store"})


@session_api.post("", responses={204: None, **problems(413, 415)})
@needs("")
def sign_in(body: SignIn) -> Response:
    """Sign in: sets a cookie that stands for the key until signing out, 12 hours, or the key's end."""
    key = state().keys.authenticate(body.key.strip())
    if key is None:
        raise Unauthenticated("This API key is not known, or it was revoked.")
    session.clear()
    session.permanent = True
    session["key_id"] = key.id
    state().audit.record(key.id, "session.sign_in", key.id)
    return Response(status=204)


@session_api.delete("", responses={204: None, **problems()})
@needs("")
def sign_out() -> Response:
    """Sign out."""
    session.clear()
    return Response(status=204)


def _view() -> SessionView:
    who = caller()
    return SessionView(
        access="open" if is_open() else "keys",
        signed_in=bool(who.key_id),
        name=who.name,
        scopes=sorted(who.scopes),
        collections=None if who.collections is None else sorted(who.collections),
    )
