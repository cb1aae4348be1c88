"""Backup and restore of a Folio: its catalog and the original files, in one compressed archive.

Indexes are left out: they are rebuilt from the catalog without embedding anything again.
"""

import sqlite3
import tarfile
import tempfile
from pathlib import Path

from folio.errors import ConfigurationError, InvalidRequest
from folio.settings import Settings

CATALOG_NAME = "catalog.db"
FILES_NAME = "files"


def backup(settings: Settings, target: Path) -> int:
    """Write everything into the new archive `target`; Folio may go on running.

    Returns:
        The archive's size in bytes.

    Raises:
        ConfigurationError: the catalog is not SQLite; use the database's own tools.
        InvalidRequest: `target` exists already.
    """
    database = _sqlite_file(settings)
    if target.exists():
        raise InvalidRequest(f"{target} exists already. Name another file, or move that one away.")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    with tempfile.TemporaryDirectory() as folder, tarfile.open(partial, "w:gz", compresslevel=3) as archive:
        # The catalog first: a file that it names was on disk before the row was, so it is in the archive too.
        snapshot = Path(folder) / CATALOG_NAME
        with sqlite3.connect(database) as source, sqlite3.connect(snapshot) as copy:
            source.backup(copy)
        source.close()
        copy.close()
        archive.add(snapshot, CATALOG_NAME)
        if settings.files_dir.is_dir():
            archive.add(settings.files_dir, FILES_NAME)
    partial.rename(target)
    return target.stat().st_size


def restore(settings: Settings, source: Path) -> None:
    """Unpack an archive of `backup` into an empty data folder.

    Raises:
        InvalidRequest: the archive is damaged or not one of Folio's, or the data folder holds a catalog already.
    """
    database = _sqlite_file(settings)
    if database.exists():
        raise InvalidRequest(f"{settings.data_dir} holds a catalog already. Set FOLIO_DATA_DIR to a new folder.")
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=settings.data_dir) as folder:
            with tarfile.open(source, "r:gz") as archive:
                archive.extractall(folder, filter="data")
            unpacked = Path(folder)
            if not (unpacked / CATALOG_NAME).is_file():
                raise InvalidRequest(f"{source} is not a Folio backup: it holds no catalog.")
            if (unpacked / FILES_NAME).is_dir():
                (unpacked / FILES_NAME).rename(settings.files_dir)
            (unpacked / CATALOG_NAME).rename(database)
    except (tarfile.TarError, EOFError, OSError) as exc:
        raise InvalidRequest(f"{source} can't be read as a Folio backup; is it whole?") from exc


def _sqlite_file(settings: Settings) -> Path:
    from sqlalchemy.engine import make_url

    url = make_url(settings.catalog_url)
    if url.get_backend_name() != "sqlite" or not url.database:
        raise ConfigurationError(
            f"The catalog is in {url.get_backend_name()}: back it up with that database's own tools (pg_dump), "
            f"together with the folder {settings.files_dir}."
        )
    return Path(url.database)
