"""Backup and restore: everything comes back, and nothing is overwritten."""

import pytest
from sqlalchemy import select

from folio.archive import backup, restore
from folio.catalog import Catalog
from folio.catalog.models import Collection
from folio.errors import ConfigurationError, InvalidRequest
from folio.settings import load_settings


@pytest.fixture
def archive(settings, catalog, tmp_path):
    with catalog.write() as session:
        session.add(Collection(name="kept", embedding_model="m", embedding_fingerprint="f", dimension=3))
    (settings.files_dir / "ab").mkdir(parents=True)
    (settings.files_dir / "ab" / "abc").write_bytes(b"original")
    target = tmp_path / "folio.tar.gz"
    backup(settings, target)
    return target


def test_catalog_and_files_come_back(archive, tmp_path):
    fresh = load_settings(data_dir=tmp_path / "fresh")
    restore(fresh, archive)
    opened = Catalog(fresh.catalog_url)
    opened.migrate()
    with opened.read() as session:
        assert session.scalars(select(Collection.name)).all() == ["kept"]
    opened.dispose()
    assert (fresh.files_dir / "ab" / "abc").read_bytes() == b"original"


def test_nothing_is_overwritten(archive, settings):
    with pytest.raises(InvalidRequest, match="exists already"):
        backup(settings, archive)
    with pytest.raises(InvalidRequest, match="holds a catalog already"):
        restore(settings, archive)


def test_a_damaged_archive_is_refused_and_leaves_nothing(archive, tmp_path):
    archive.write_bytes(archive.read_bytes()[:200])
    fresh = load_settings(data_dir=tmp_path / "fresh")
    with pytest.raises(InvalidRequest, match="whole"):
        restore(fresh, archive)
    assert list(fresh.data_dir.iterdir()) == []


def test_another_database_is_left_to_its_own_tools(tmp_path):
    with pytest.raises(ConfigurationError, match="pg_dump"):
        backup(load_settings(database_url="postgresql://h/db"), tmp_path / "x.tar.gz")
