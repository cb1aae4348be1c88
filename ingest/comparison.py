"""What ingesting would change: files compared with the documents of a collection by content hash."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Collection, Document
from ingest.members import container_of
from ingest.sources import is_url
from ingest.views import IncomingFile


@dataclass(frozen=True)
class Comparison:
    """Uris of files by what would happen to them; `missing` holds ids of documents whose file is gone."""

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {
            "new": len(self.new),
            "changed": len(self.changed),
            "unchanged": len(self.unchanged),
            "missing": len(self.missing),
        }


def compare(catalog: Catalog, collection: str, files: Sequence[IncomingFile], sources: Sequence[str]) -> Comparison:
    """Compare `files`, found below `sources`, with what the collection holds."""
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
    folders = [Path(source).expanduser().resolve().as_uri() + "/" for source in sources if not is_url(source)]
    present = {file.uri for file in files}
    for uri, (_, document_id) in known.items():
        if container_of(uri) not in present and uri.startswith(tuple(folders)):
            result.missing.append(document_id)
    return result
