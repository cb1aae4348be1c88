"""The catalog: the one source of truth, a SQL database reached through SQLAlchemy 2."""

from folio.catalog.database import Catalog

__all__ = ["Catalog"]
