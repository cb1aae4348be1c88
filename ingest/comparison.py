"""What ingesting would change: files compared with the documents of a collection by content hash."""

from collections.abc import Collection as Collected
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Collection, Document
from ingest.members import container_of
from ingest.sources import is_away, is_url
from ingest.views import IncomingFile


@dataclass(frozen=True)
class Comparison:
    """Uris of files by what would happen to them; `missing` holds ids of documents whose file is gone.

    `withheld` holds, by source, how many documents have no file because all of the source seems to be away, as on a
    disk that is not mounted. They are not among the missing.
    """

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    withheld: dict[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {
            "new": len(self.new),
            "changed": len(self.changed),
            "unchanged": len(self.unchanged),
            "missing": len(self.missing),
        }


def compare(
    catalog: Catalog,
    collection: str,
    files: Sequence[IncomingFile],
    sources: Sequence[str],
    *,
    away: Collected[str] = (),
) -> Comparison:
    """Compare `files`, found below `sources`, with what the collection holds.

    Args:
        away: sources known to be away as a whole; others are looked at.
    """
    with catalog.read() as session:
        rows = session.execute(
            select(Document.uri, Document.sha256, Document.id).join(Collection).where(Collection.name == collection)
        ).all()
    known = {uri: (sha256, document_id) for uri, sha256, document_id in rows}
    result = Comparison()
    for file in files:
        sha256 = known.get(file.uri, (None, ""))[0]
        kind = result.new if sha256 is None else result.unchanged if sha256 == file.sha256 else result.changed
        kind.append(file.uri)
    present = {file.uri for file in files}
    absent = [uri for uri in known if container_of(uri) not in present]
    missing: dict[str, None] = {}  # in order, each once
    withheld: set[str] = set()
    for source in sources:
        if is_url(source):
            continue
        path = Path(source).expanduser().resolve()
        place = path.as_uri()
        below = [uri for uri in absent if container_of(uri) == place or uri.startswith(f"{place}/")]
        gone = [uri for uri in below if not _is_there(container_of(uri))]
        if not gone:
            continue
        if source in away or is_away(path, is_file=any(container_of(uri) == place for uri in gone)):
            result.withheld[source] = len(gone)
            withheld.update(gone)
        else:
            missing.update(dict.fromkeys(gone))
    result.missing.extend(known[uri][1] for uri in missing if uri not in withheld)
    return result


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
