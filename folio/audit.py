"""The audit log: who ingested, deleted or changed keys, and when. Lines are only ever added."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import AuditEvent


class AuditLine(BaseModel):
    """One act. `actor` is a key's id, `cli`, or empty for a caller who needed no key."""

    id: int
    at: datetime
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


class AuditLog:
    """The audit log in the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def record(self, actor: str, action: str, subject: str, **detail: object) -> None:
        """Add a line; `detail` must be plain JSON values."""
        with self._catalog.write() as session:
            session.add(AuditEvent(actor=actor, action=action, subject=subject[:2000], detail=detail))

    def lines(self, limit: int = 50, before: int | None = None) -> list[AuditLine]:
        """The newest lines first; `before` is the id of the last line already seen."""
        query = select(AuditEvent).order_by(AuditEvent.id.desc()).limit(limit)
        if before is not None:
            query = query.where(AuditEvent.id < before)
        with self._catalog.read() as session:
            return [AuditLine.model_validate(row, from_attributes=True) for row in session.scalars(query)]
