"""Runs the Alembic migrations that ship inside the package."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from filelock import FileLock
from sqlalchemy import Engine

MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(engine: Engine) -> None:
    """Apply every migration not yet applied, one process at a time."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    database = engine.url.database
    if engine.dialect.name == "sqlite" and database and database != ":memory:":
        with FileLock(f"{database}.migrate.lock"):
            _run(config, engine)
    else:
        _run(config, engine)


def _run(config: Config, engine: Engine) -> None:
    with engine.execution_options(folio_write=True).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(704651)")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
