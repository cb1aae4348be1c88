"""Who acts. A door says it once for what it lets in; the parts below read it where they record an act."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_actor: ContextVar[str | None] = ContextVar("folio_actor", default=None)


@contextmanager
def acting_as(actor: str) -> Iterator[None]:
    """Let `actor` (a key's id, `cli:<user>`, or empty for nobody known) be who acts in this thread in the block."""
    before = _actor.get()
    _actor.set(actor)
    try:
        yield
    finally:
        _actor.set(before)


def current_actor() -> str:
    """Who acts in this thread; `local:<user>` in a program that uses the parts without a door."""
    said = _actor.get()
    return f"local:{system_user()}" if said is None else said


def system_user() -> str:
    """The name of the system's user that this process runs as, whatever the environment says."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
