"""One item from its bytes to a searchable document: read, parse, chunk, embed, commit."""

from dataclasses import replace
from pathlib import Path

from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Document
from folio.errors import IngestError
from folio.log import get_logger
from folio.settings import Settings
from ingest import reasons
from ingest.chunking import Chunker
from ingest.commit import NewDocument, commit_container, commit_document, commit_unchanged
from ingest.embedding import ChunkEmbedder
from ingest.fetch import fetch
from ingest.lease import Lease, Leases, LostLease
from ingest.members import store_members
from ingest.parsers.registry import media_type_of
from ingest.sandbox import parse_in_child
from ingest.sources import is_url
from ingest.storage import FileStorage
from retrieval.embedder import Embedder
from retrieval.language import query_language

LANGUAGE_SAMPLE = 4000

log = get_logger(__name__)


class ItemProcessor:
    """Takes items and finishes them, each in its own transaction; safe to use from several threads."""

    def __init__(self, catalog: Catalog, embedder: Embedder, settings: Settings, leases: Leases) -> None:
        self._catalog = catalog
        self._settings = settings
        self._leases = leases
        self._storage = FileStorage(settings.files_dir)
        self._chunk_embedder = ChunkEmbedder(catalog, embedder)
        self._chunker = Chunker(
            embedder, chunk_tokens=settings.chunk_tokens, overlap_tokens=settings.chunk_overlap_tokens
        )

    def process(self, item_id: str) -> str | None:
        """Bring one item to its end, whatever that is.

        Returns:
            The collection it belongs to, when the item was this worker's to do.
        """
        lease = self._leases.take(item_id)
        if lease is None:
            return None
        with self._leases.kept(lease):
            try:
                self._ingest(lease)
            except LostLease:
                log.info("given up: cancelled or taken over", uri=lease.uri)
            except IngestError as exc:
                self._leases.fail(lease, exc.reason, exc.message)
                log.warning("file failed", uri=lease.uri, reason=exc.reason)
            except Exception:
                self._leases.fail(lease, reasons.INTERNAL, reasons.MEANINGS[reasons.INTERNAL])
                log.exception("file failed unexpectedly", uri=lease.uri)
        return lease.collection_id

    def _ingest(self, lease: Lease) -> None:
        lease, path = self._bytes(lease)
        if commit_unchanged(self._catalog, lease, lease.sha256):
            return
        if lease.size_bytes > self._settings.max_file_mib * 2**20:
            raise IngestError(reasons.TOO_LARGE, f"The file is larger than {self._settings.max_file_mib} MiB.")
        self._stage(lease, "parsing")
        name = lease.title or lease.uri
        parsed = parse_in_child(
            path,
            name,
            lease.media_type,
            timeout_s=self._settings.parse_timeout_s,
            memory_mib=self._settings.parse_memory_mib,
        )
        members = store_members(lease, parsed.embedded, self._storage)
        if parsed.embedded and not parsed.text.strip():
            commit_container(self._catalog, lease, members)
            return
        self._stage(lease, "chunking")
        title = parsed.title or _readable(name)
        chunks = self._chunker.split(parsed, parsed.title or self._twin_title(lease) or title)
        if not chunks:
            raise IngestError(reasons.NO_TEXT, "The file holds no text.")
        self._stage(lease, "embedding", chunks_total=len(chunks))
        vectors, reused = self._chunk_embedder.embed(
            lease.collection_id, chunks, lambda done: self._stage(lease, "embedding", chunks_done=done)
        )
        self._stage(lease, "committing")
        language = query_language(parsed.text[:LANGUAGE_SAMPLE])
        media_type = media_type_of(name, lease.media_type)
        document = NewDocument(
            title, media_type, language, lease.sha256, lease.size_bytes, parsed, chunks, vectors, reused,
            members,
        )  # fmt: skip
        commit_document(self._catalog, lease, document)

    def _bytes(self, lease: Lease) -> tuple[Lease, Path]:
        """The item's stored bytes; an address is fetched first."""
        if not lease.sha256 and is_url(lease.uri):
            fetched = fetch(lease.uri, self._storage, max_bytes=self._settings.max_file_mib * 2**20)
            values = {"sha256": fetched.sha256, "size_bytes": fetched.size_bytes, "media_type": fetched.media_type}
            if not self._leases.note(lease, **values):
                raise LostLease(lease.item_id)
            lease = replace(lease, title=fetched.filename, **values)  # type: ignore[arg-type]
        path = self._storage.path(lease.sha256)
        if not path.is_file():
            raise IngestError(reasons.MISSING, "The stored bytes of this file are gone. Add it again.")
        return lease, path

    def _twin_title(self, lease: Lease) -> str:
        """Title of a document with these very bytes under another name: its vectors then serve both."""
        with self._catalog.read() as session:
            title = session.scalar(
                select(Document.title)
                .where(Document.collection_id == lease.collection_id, Document.sha256 == lease.sha256)
                .order_by(Document.created_at)
                .limit(1)
            )
        return title or ""

    def _stage(self, lease: Lease, stage: str, **values: object) -> None:
        if not self._leases.note(lease, stage=stage, **values):
            raise LostLease(lease.item_id)


def _readable(name: str) -> str:
    """A title from a file's name."""
    stem = name.rstrip("/").rsplit("/", 1)[-1]
    return stem.rsplit(".", 1)[0] if "." in stem[1:] else stem
