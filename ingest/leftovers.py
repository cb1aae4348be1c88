"""Stored bytes that nothing needs any more: released when their last document goes, found by `folio doctor` otherwise.

A file is needed while a document was read from it or an unfinished item waits for it. The check and the removal are one
write transaction, so that no job can be submitted between them.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from folio.catalog import Catalog
from folio.catalog.locks import Turn, wait_turn
from folio.catalog.models import Document, IngestItem
from ingest.jobs import UNFINISHED
from ingest.storage import FileStorage

RETRYABLE = (*UNFINISHED, "failed", "cancelled")
YOUNG_S = 900.0  # an upload is stored before its job exists; a file this new may belong to one that is being sent


def release(catalog: Catalog, storage: FileStorage, hashes: Iterable[str]) -> int:
    """Remove those of the stored files that nothing needs any more; how many that were."""
    candidates = [sha256 for sha256 in set(hashes) if sha256]
    if not candidates:
        return 0
    with catalog.write() as session:
        wait_turn(session, Turn.FILES)
        return sum(storage.remove(sha256) for sha256 in candidates if not is_needed(session, sha256))


def is_needed(session: Session, sha256: str, states: Sequence[str] = UNFINISHED) -> bool:
    """Whether a document, or an item in one of `states`, has these bytes."""
    read_from = select(Document.id).where(Document.sha256 == sha256).exists()
    waited_for = select(IngestItem.id).where(IngestItem.state.in_(states), IngestItem.sha256 == sha256).exists()
    # One statement, which sees one moment: between two an item may end and its document appear.
    return bool(session.scalar(select(or_(read_from, waited_for))))


def leftovers(catalog: Catalog, storage: FileStorage, *, older_than_s: float = YOUNG_S) -> list[Path]:
    """Stored files, and halves of files, that nothing needs, a later retry included, and that nobody writes now."""
    with catalog.read() as session:
        return [
            path
            for path in _old_files(storage, older_than_s)
            if path.name.startswith(".") or not is_needed(session, path.name, RETRYABLE)
        ]


def sweep(catalog: Catalog, storage: FileStorage, *, older_than_s: float = YOUNG_S) -> int:
    """Remove the leftovers; how many there were."""
    count = 0
    for path in leftovers(catalog, storage, older_than_s=older_than_s):
        if path.name.startswith("."):
            path.unlink(missing_ok=True)
            count += 1
        else:
            count += release(catalog, storage, [path.name])
    return count


def _old_files(storage: FileStorage, older_than_s: float) -> Iterator[Path]:
    before = time.time() - older_than_s
    for path in storage.everything():
        try:
            if path.stat().st_mtime <= before:
                yield path
        except FileNotFoundError:
            continue
