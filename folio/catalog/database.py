"""Opens the catalog's database and hands out transactions.

`read()` and `write()` are the only ways in. A SQLite `write()` takes the write lock at once (BEGIN IMMEDIATE), so that
two writers wait for each other instead of failing half-way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.orm import Session, sessionmaker

from folio.errors import ConfigurationError

SQLITE_BUSY_TIMEOUT_MS = 60_000


class Catalog:
    """The catalog of one Folio.

    Args:
        url: a SQLAlchemy URL (`sqlite:///...` or `postgresql+psycopg://...`).

    Raises:
        ConfigurationError: the URL can't be understood, or its driver is not installed.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            parsed = make_url(url)
            if parsed.get_backend_name() == "sqlite" and parsed.database:
                Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
            self.engine: Engine = create_engine(parsed, pool_pre_ping=parsed.get_backend_name() != "sqlite")
        except (ArgumentError, ModuleNotFoundError) as exc:
            raise ConfigurationError(
                "FOLIO_DATABASE_URL can't be used: give a SQLAlchemy URL such as "
                "postgresql+psycopg://user:password@host/folio and install its driver."
            ) from exc
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        if self.is_sqlite:
            event.listen(self.engine, "connect", _configure_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        # SQLite's readers see one state anyway; PostgreSQL's see a new one with each statement unless told.
        reading = self.engine if self.is_sqlite else self.engine.execution_options(isolation_level="REPEATABLE READ")
        self._read = sessionmaker(reading, expire_on_commit=False)
        self._write = sessionmaker(self.engine.execution_options(folio_write=True), expire_on_commit=False)

    def migrate(self) -> None:
        """Bring the schema to the newest version. Safe to call from several processes at once.

        Raises:
            ConfigurationError: the database can't be reached.
        """
        from folio.catalog.migrate import upgrade

        try:
            upgrade(self.engine)
        except OperationalError as exc:
            raise ConfigurationError(
                f"The catalog at {self.engine.url.render_as_string(hide_password=True)} can't be opened. "
                "Check that the database runs and that the folder is writable."
            ) from exc

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that sees one consistent state and changes nothing."""
        with self._read() as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session whose changes are committed together at the end, or not at all."""
        with self._write.begin() as session:
            yield session

    def dispose(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _configure_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy's "begin" event below starts transactions
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={SQLITE_BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin_sqlite(connection: Any) -> None:
    write = connection.get_execution_options().get("folio_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
