"""Which containers (archives, mails) are in a collection whole, so that the same bytes need not be opened again.

The item that opened a container keeps, in its options, what the container held and how it was read. The container is
whole while the collection has exactly that: every member, read in that way, and no document of a member it has not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from folio.addresses import INSIDE
from folio.catalog.models import Document, IngestItem, IngestJob
from ingest.parsers.registry import suffix_of

HOLDING_FILES = frozenset({"zip", "tar", "tgz", "tar.gz", "tar.bz2", "tar.xz", "eml", "msg"})
LOOKUP_BATCH = 500
NAMED_PREFIXES = 20  # containers looked for by name; for more, all documents inside containers are looked through


@dataclass(frozen=True)
class Opened:
    """A container as it was opened.

    `members` holds the SHA-256 of each file in it by its name, `is_document` whether it has text of its own.
    """

    sha256: str
    address: str
    members: Mapping[str, str]
    is_document: bool
    tags: Sequence[str]
    meta: Mapping[str, Any]

    def came_as(self, tags: Sequence[str], meta: Mapping[str, Any], address: str) -> bool:
        """Whether its members are described already as they would be if it came again with these."""
        same_tags = not tags or list(tags) == list(self.tags)
        return same_tags and dict(meta).items() <= dict(self.meta).items() and address == self.address


def may_hold_files(filename: str, media_type: str = "") -> bool:
    """Whether a file of this name is of a kind that can hold further files."""
    return suffix_of(filename, media_type) in HOLDING_FILES


def opened_options(reading: str, members: Mapping[str, str], *, is_document: bool) -> dict[str, Any]:
    """What the item of a container keeps of it, for its options."""
    return {"opened": {"reading": reading, "members": dict(members), "is_document": is_document}}


def whole_containers(
    session: Session, collection_id: str, wanted: Mapping[str, str], reading: str
) -> dict[str, Opened]:
    """Those of `wanted` containers that the collection has whole, by uri.

    Args:
        wanted: SHA-256 of each container's bytes by its uri.
        reading: how files are read now; a container of which anything was read otherwise is not whole.
    """
    opened = _opened(session, collection_id, wanted, reading)
    if not opened:
        return {}
    documents = _documents(session, collection_id, list(opened))
    inner, everything = opened, dict(opened)
    while inner:  # containers in containers; their depth is bounded where they are opened
        nested = {
            f"{uri}{INSIDE}{name}": sha256
            for uri, container in inner.items()
            for name, sha256 in container.members.items()
            if may_hold_files(name)
        }
        inner = _opened(session, collection_id, nested, reading)
        everything |= inner
    whole = _Whole(everything, documents, reading)
    return {uri: container for uri, container in opened.items() if whole.is_whole(uri)}


class _Whole:
    """Compares containers as they were opened with the documents that are there: (SHA-256, reading) by uri."""

    def __init__(self, opened: Mapping[str, Opened], documents: Mapping[str, tuple[str, str]], reading: str) -> None:
        self._opened = opened
        self._documents = documents
        self._reading = reading
        self._inside: dict[str, set[str]] = {}  # names of members that have documents, by container
        for uri in documents:
            parts = uri.split(INSIDE)
            for depth in range(1, len(parts)):
                self._inside.setdefault(INSIDE.join(parts[:depth]), set()).add(parts[depth])

    def is_whole(self, uri: str) -> bool:
        """Whether all of a container is there, and nothing else inside it."""
        container = self._opened.get(uri)
        if container is None:
            return False
        if container.is_document and not self._is_read(uri, container.sha256):
            return False
        if not self._inside.get(uri, set()) <= set(container.members):
            return False
        return all(
            self.is_whole(f"{uri}{INSIDE}{name}")
            if may_hold_files(name)
            else self._is_read(f"{uri}{INSIDE}{name}", sha256)
            for name, sha256 in container.members.items()
        )

    def _is_read(self, uri: str, sha256: str) -> bool:
        return self._documents.get(uri) == (sha256, self._reading)


def _opened(session: Session, collection_id: str, wanted: Mapping[str, str], reading: str) -> dict[str, Opened]:
    """The newest opening of each container with these very bytes."""
    hashes = sorted(set(wanted.values()) - {""})
    found: dict[str, Opened] = {}
    for first in range(0, len(hashes), LOOKUP_BATCH):
        query = (
            select(IngestItem.uri, IngestItem.sha256, IngestItem.address, IngestItem.options)
            .join(IngestJob)
            .where(
                IngestItem.sha256.in_(hashes[first : first + LOOKUP_BATCH]), IngestItem.state.in_(("done", "unchanged"))
            )
            .where(IngestJob.collection_id == collection_id)
            .order_by(IngestJob.created_at, IngestItem.ordinal)
        )
        for uri, sha256, address, options in session.execute(query):
            kept = options.get("opened")
            if kept and kept["reading"] == reading and wanted.get(uri) == sha256:
                found[uri] = Opened(
                    sha256, address, kept["members"], kept["is_document"], options.get("tags", []),
                    options.get("meta", {}),
                )  # fmt: skip
    return found


def _documents(session: Session, collection_id: str, containers: Sequence[str]) -> dict[str, tuple[str, str]]:
    """(SHA-256, reading) of the documents of these containers and of all inside them."""
    inside = (
        Document.uri.contains(INSIDE, autoescape=True)
        if len(containers) > NAMED_PREFIXES
        else or_(*(Document.uri.startswith(f"{uri}{INSIDE}", autoescape=True) for uri in containers))
    )
    columns = select(Document.uri, Document.sha256, Document.reading).where(Document.collection_id == collection_id)
    found = {uri: (sha256, reading) for uri, sha256, reading in session.execute(columns.where(inside))}
    for first in range(0, len(containers), LOOKUP_BATCH):
        query = columns.where(Document.uri.in_(containers[first : first + LOOKUP_BATCH]))
        found |= {uri: (sha256, reading) for uri, sha256, reading in session.execute(query)}
    return found
