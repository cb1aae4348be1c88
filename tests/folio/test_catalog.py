"""The catalog: migrations give the models' schema, writes are whole, SQLite is set up for many processes."""

import threading

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import insert, inspect, select

from folio.catalog import Catalog
from folio.catalog.migrate import MIGRATIONS
from folio.catalog.models import Base, Chunk, Collection, Document
from folio.errors import ConfigurationError

EMBEDDED = {"embedding_model": "m", "embedding_fingerprint": "f", "dimension": 3}


def collection(name: str = "default") -> Collection:
    return Collection(name=name, **EMBEDDED)


def test_migrations_give_exactly_the_schema_of_the_models(catalog):
    with catalog.engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    assert differences == []


def test_migrating_twice_changes_nothing(catalog):
    before = set(inspect(catalog.engine).get_table_names())
    catalog.migrate()
    assert set(inspect(catalog.engine).get_table_names()) == before


def test_documents_of_an_older_catalog_get_addresses_without_the_place_on_disk(catalog):
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with catalog.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0002")
        connection.execute(insert(Collection).values(id="c", name="c", **EMBEDDED))
        for uri in ("file:///home/someone/my%20notes.zip!/a/b.txt", "https://example.org/a", "upload:a/b.txt"):
            columns = "id, collection_id, uri, title, media_type, sha256, size_bytes, version, status, language, text"
            rest = "'t', 'text/plain', '', 1, 1, 'ready', '', ''"
            connection.exec_driver_sql(
                f"INSERT INTO documents ({columns}, pages, tags, meta, created_at, updated_at)"
                f" VALUES (?, 'c', ?, {rest}, '[]', '[]', '{{}}', '2026-01-01', '2026-01-01')",
                (uri[:32], uri),
            )
    catalog.migrate()
    with catalog.read() as session:
        addresses = set(session.scalars(select(Document.address)))
    assert addresses == {"file:my notes.zip!/a/b.txt", "https://example.org/a", "upload:a/b.txt"}


def test_a_failed_write_leaves_nothing_behind(catalog):
    def write_and_fail() -> None:
        with catalog.write() as session:
            session.add(collection())
            session.flush()
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_and_fail()
    with catalog.read() as session:
        assert session.scalars(select(Collection)).all() == []


def test_two_writers_wait_for_each_other(catalog):
    entered = threading.Barrier(2)
    failures = []

    def write(name: str) -> None:
        entered.wait()
        try:
            for number in range(20):
                with catalog.write() as session:
                    session.scalars(select(Collection)).all()
                    session.add(collection(f"{name}-{number}"))
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert failures == []
    with catalog.read() as session:
        assert len(session.scalars(select(Collection)).all()) == 40


def test_chunk_ids_are_never_used_again(catalog):
    def add() -> int:
        with catalog.write() as session:
            home = session.scalar(select(Collection)) or collection()
            session.add(home)
            session.flush()
            document = Document(
                collection_id=home.id, uri="u", title="t", media_type="text/plain", sha256="0", size_bytes=1, text="abc"
            )
            chunk = Chunk(
                collection_id=home.id,
                ordinal=0,
                start=0,
                end=3,
                text="abc",
                token_count=1,
                embedded_sha256="",
                vector=b"",
            )
            document.chunks = [chunk]
            session.add(document)
            session.flush()
            return chunk.id

    first = add()
    with catalog.write() as session:
        session.delete(session.scalars(select(Document)).one())
    assert add() > first


def test_times_come_back_in_utc(catalog):
    with catalog.write() as session:
        session.add(collection())
    with catalog.read() as session:
        assert session.scalars(select(Collection)).one().created_at.utcoffset().total_seconds() == 0


def test_an_unusable_url_says_what_to_give():
    with pytest.raises(ConfigurationError, match="FOLIO_DATABASE_URL"):
        Catalog("nonsense")
