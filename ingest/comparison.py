"""What ingesting would change: files compared with the documents of a collection by content hash."""

from collections.abc import Collection as Collected
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from sqlalchemy import select
from sqlalchemy.orm import Session

from folio.addresses import INSIDE
from folio.catalog import Catalog
from folio.catalog.models import Collection, Document, IngestItem, IngestJob
from ingest.containers import LOOKUP_BATCH, may_hold_files, whole_containers
from ingest.members import container_of
from ingest.sources import is_away, is_url, place_of
from ingest.views import IncomingFile


@dataclass(frozen=True)
class Compared:
    """A file, or a document whose file is gone.

    `address` is what readers are shown of its place, `reason_code` why the file failed before.
    """

    uri: str
    address: str
    document_id: str = ""
    reason_code: str = ""


@dataclass(frozen=True)
class Comparison:
    """Files by what would happen to them, and documents whose file is gone (`missing`).

    `changed` are also those to be read again because they were read otherwise, or because of a container not
    everything is there any more; `failed_before` those that failed as they are, and would be tried again.
    `withheld` holds, by source, how many documents have no file because all of the source seems to be away, as on a
    disk that is not mounted. They are not among the missing.
    """

    new: list[Compared] = field(default_factory=list)
    changed: list[Compared] = field(default_factory=list)
    unchanged: list[Compared] = field(default_factory=list)
    failed_before: list[Compared] = field(default_factory=list)
    missing: list[Compared] = field(default_factory=list)
    withheld: dict[str, int] = field(default_factory=dict)

    @property
    def lists(self) -> dict[str, list[Compared]]:
        """Each list by its name."""
        return {
            "new": self.new,
            "changed": self.changed,
            "unchanged": self.unchanged,
            "failed_before": self.failed_before,
            "missing": self.missing,
        }

    @property
    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {name: len(entries) for name, entries in self.lists.items()}


@dataclass(frozen=True)
class _Known:
    """A document that is there."""

    id: str
    sha256: str
    reading: str
    address: str


def compare(
    catalog: Catalog,
    collection: str,
    files: Sequence[IncomingFile],
    sources: Sequence[str],
    *,
    reading: str,
    away: Collected[str] = (),
) -> Comparison:
    """Compare `files`, found below `sources`, with what the collection holds.

    Args:
        reading: the fingerprint of how files are read now; a document read otherwise is read again.
        away: sources known to be away as a whole; others are looked at.
    """
    result = Comparison()
    with catalog.read() as session:
        collection_id = session.scalar(select(Collection.id).where(Collection.name == collection)) or ""
        known = _documents(session, collection_id)
        _sort(session, collection_id, result, files, known, reading)
    _find_missing(result, known, {file.uri for file in files}, sources, away)
    return result


def _sort(
    session: Session,
    collection_id: str,
    result: Comparison,
    files: Sequence[IncomingFile],
    known: Mapping[str, _Known],
    reading: str,
) -> None:
    """Put each file into its list."""
    containers = {file.uri: file.sha256 for file in files if may_hold_files(file.title, file.media_type)}
    whole = whole_containers(session, collection_id, containers, reading)
    opened = {container_of(uri) for uri in known if INSIDE in uri}
    failures = _failures(session, collection_id, files)
    for file in files:
        there = known.get(file.uri)
        is_read = there is not None and (there.sha256, there.reading) == (file.sha256, reading)
        reason_code = failures.get((file.uri, file.sha256), "")
        entry = Compared(file.uri, file.shown, there.id if there else "", reason_code)
        if file.uri in whole or (is_read and file.uri not in containers):
            result.unchanged.append(replace(entry, reason_code=""))
        elif reason_code:
            result.failed_before.append(entry)
        elif there is not None or file.uri in opened:
            result.changed.append(entry)
        else:
            result.new.append(entry)


def _documents(session: Session, collection_id: str) -> dict[str, _Known]:
    columns = select(Document.uri, Document.id, Document.sha256, Document.reading, Document.address)
    rows = session.execute(columns.where(Document.collection_id == collection_id))
    return {row[0]: _Known(*row[1:]) for row in rows}


def _failures(session: Session, collection_id: str, files: Sequence[IncomingFile]) -> dict[tuple[str, str], str]:
    """Reason codes of the files that failed, with these very bytes, the last time they were tried."""
    hashes = sorted({file.sha256 for file in files} - {""})
    last: dict[tuple[str, str], str] = {}
    for first in range(0, len(hashes), LOOKUP_BATCH):
        query = (
            select(IngestItem.uri, IngestItem.sha256, IngestItem.state, IngestItem.reason_code)
            .join(IngestJob)
            .where(IngestItem.sha256.in_(hashes[first : first + LOOKUP_BATCH]))
            .where(IngestItem.state.in_(("done", "unchanged", "failed")), IngestJob.collection_id == collection_id)
            .order_by(IngestJob.created_at, IngestItem.ordinal)
        )
        last |= {
            (uri, sha256): reason if state == "failed" else "" for uri, sha256, state, reason in session.execute(query)
        }
    return last


def _find_missing(
    result: Comparison,
    known: Mapping[str, _Known],
    present: Collected[str],
    sources: Sequence[str],
    away: Collected[str],
) -> None:
    """Add the documents below `sources` whose file is gone."""
    absent = [uri for uri in known if container_of(uri) not in present]
    missing: dict[str, None] = {}  # in order, each once
    withheld: set[str] = set()
    for source in sources:
        if is_url(source):
            continue
        named = Path(source).expanduser()
        path, place = named.resolve(), place_of(named).as_uri()
        inside = f"{path.as_uri()}/"
        below = [uri for uri in absent if container_of(uri) == place or uri.startswith(inside)]
        gone = [uri for uri in below if not _is_there(container_of(uri))]
        if not gone:
            continue
        if source in away or is_away(path, is_file=any(container_of(uri) == place for uri in gone)):
            result.withheld[source] = len(gone)
            withheld.update(gone)
        else:
            missing.update(dict.fromkeys(gone))
    result.missing.extend(Compared(uri, known[uri].address, known[uri].id) for uri in missing if uri not in withheld)


def _is_there(uri: str) -> bool:
    """Whether a file of this uri exists, or can't be looked for: what is not known to be gone is not missing."""
    if not uri.startswith("file:"):
        return False
    try:
        Path(url2pathname(urlsplit(uri).path)).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
