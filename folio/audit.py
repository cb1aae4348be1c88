"""The audit log: who ingested, deleted or changed keys, and when. Lines are only ever added.

The parts record what they do, in the transaction that does it, so that no door can forget to.
"""

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from folio.actor import current_actor
from folio.catalog import Catalog
from folio.catalog.models import AuditEvent


class AuditLine(BaseModel):
    """One act. `actor` is a key's id, `cli:<user>`, `local:<user>`, or empty for a caller who needed no key."""

    id: int
    at: datetime
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


def record(session: Session, action: str, subject: str, *, actor: str | None = None, **detail: object) -> None:
    """Add a line, which is kept if the transaction is.

    Args:
        actor: who did it; None means who acts in this thread.
        detail: plain JSON values.
    """
    by = current_actor() if actor is None else actor
    session.add(AuditEvent(actor=by[:100], action=action, subject=subject[:2000], detail=detail))


class AuditLog:
    """The audit log in the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def record(self, actor: str, action: str, subject: str, **detail: object) -> None:
        """Add a line by itself; `detail` must be plain JSON values."""
        with self._catalog.write() as session:
            record(session, action, subject, actor=actor, **detail)

    def lines(self, limit: int = 50, before: int | None = None) -> list[AuditLine]:
        """The newest lines first; `before` is the id of the last line already seen."""
        query = select(AuditEvent).order_by(AuditEvent.id.desc()).limit(limit)
        if before is not None:
            query = query.where(AuditEvent.id < before)
        with self._catalog.read() as session:
            return [AuditLine.model_validate(row, from_attributes=True) for row in session.scalars(query)]
