"""One item from its bytes to a searchable document: read, parse, chunk, embed, commit."""

import threading
from dataclasses import replace
from pathlib import Path

from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Document
from folio.errors import IngestError
from folio.log import get_logger
from folio.settings import Settings
from ingest import reasons
from ingest.batching import EmbeddingPool
from ingest.budget import ByteBudget
from ingest.chunking import Chunker
from ingest.commit import NewDocument, commit_container, commit_document, commit_unchanged
from ingest.embedding import ChunkEmbedder
from ingest.extraction import extract
from ingest.fetch import fetch
from ingest.lease import Lease, Leases, LostLease
from ingest.members import store_members
from ingest.parser_children import ParserChildren
from ingest.parsers.registry import media_type_of
from ingest.progress import ItemProgress, Progress
from ingest.reading import reading_fingerprint
from ingest.site import Site
from ingest.site_items import walk_site
from ingest.sources import is_url
from ingest.storage import FileStorage
from retrieval.embedder import Embedder
from retrieval.language import query_language

LANGUAGE_SAMPLE = 4000
PARSED_TOGETHER = 2  # files read and cut at once; more would only take the cores from embedding
IN_MEMORY_BYTES = 64 * 2**20  # of the files between reading and commit

log = get_logger(__name__)


class ItemProcessor:
    """Takes items and finishes them, each in its own transaction.

    Meant for many threads: while some documents wait for their vectors others are read, and all of them fill the
    batches of one embedding pool. `close` ends what it runs.
    """

    def __init__(self, catalog: Catalog, embedder: Embedder, settings: Settings, leases: Leases) -> None:
        self._catalog = catalog
        self._settings = settings
        self._embedder = embedder
        self._leases = leases
        self._storage = FileStorage(settings.files_dir)
        self._reading = reading_fingerprint(settings)
        self._progress = Progress(catalog, settings.lease_s)
        self._pool = EmbeddingPool(embedder, settings.embedding_batch_size)
        self._chunk_embedder = ChunkEmbedder(catalog, self._pool)
        self._budget = ByteBudget(IN_MEMORY_BYTES)
        self._parsers = ParserChildren()
        self._parsing = threading.BoundedSemaphore(PARSED_TOGETHER)
        # SQLite's own wait for the write lock sleeps between looks; threads of one process can simply stand in line.
        self._writing = threading.Lock()
        self._chunker = Chunker(
            embedder, chunk_tokens=settings.chunk_tokens, overlap_tokens=settings.chunk_overlap_tokens
        )

    def process(self, item_id: str) -> str | None:
        """Bring one item to its end, whatever that is.

        Returns:
            The collection it belongs to, when the item was this worker's to do.
        """
        with self._writing:
            lease = self._leases.take(item_id)
        if lease is None:
            return None
        with self._progress.kept(lease) as progress:
            try:
                self._ingest(lease, progress)
            except LostLease:
                log.info("given up: cancelled or taken over", uri=lease.uri)
            except IngestError as exc:
                self._leases.fail(lease, exc.reason, exc.message)
                log.warning("file failed", uri=lease.uri, reason=exc.reason)
            except Exception:
                self._leases.fail(lease, reasons.INTERNAL, reasons.MEANINGS[reasons.INTERNAL])
                log.exception("file failed unexpectedly", uri=lease.uri)
        return lease.collection_id

    def close(self) -> None:
        """End the threads of the embedding pool and of the progress, and the parsers."""
        self._pool.close()
        self._parsers.close()
        self._progress.close()

    def _ingest(self, lease: Lease, progress: ItemProgress) -> None:
        site = Site.of(lease.uri)
        if site is not None:
            walk_site(self._catalog, lease, site, self._storage, self._settings, lambda: progress.stage("reading"))
            return
        lease, path = self._bytes(lease)
        with self._writing:
            if commit_unchanged(self._catalog, lease, lease.sha256, self._reading, self._storage):
                return
        if lease.size_bytes > self._settings.max_file_mib * 2**20:
            raise IngestError(reasons.TOO_LARGE, f"The file is larger than {self._settings.max_file_mib} MiB.")
        with self._budget.hold(lease.size_bytes):
            self._read_and_commit(lease, path, progress)

    def _read_and_commit(self, lease: Lease, path: Path, progress: ItemProgress) -> None:
        name = lease.title or lease.uri
        with self._parsing:
            progress.stage("parsing")
            parsed = extract(
                path, name, lease.media_type, self._settings, lambda: progress.stage("parsing"), self._parsers
            )
            members = store_members(lease, parsed.embedded, self._storage)
            if parsed.embedded and not parsed.text.strip():
                with self._writing:
                    commit_container(self._catalog, lease, members, self._reading, self._storage)
                return
            parsed = replace(parsed, embedded=())
            progress.stage("chunking")
            title = parsed.title or _readable(name)
            chunks = self._chunker.split(parsed, parsed.title or self._twin_title(lease) or title)
        if not chunks:
            raise IngestError(reasons.NO_TEXT, "The file holds no text.")
        progress.stage("embedding", chunks_total=len(chunks))
        vectors, reused = self._chunk_embedder.embed(
            lease.collection_id, chunks, lambda done: progress.stage("embedding", chunks_done=done)
        )
        progress.stage("committing")
        language = query_language(parsed.text[:LANGUAGE_SAMPLE])
        media_type = media_type_of(name, lease.media_type)
        document = NewDocument(
            title, media_type, language, lease.sha256, lease.size_bytes, parsed, chunks, vectors, reused,
            members, self._reading, self._embedder.fingerprint,
        )  # fmt: skip
        with self._writing:
            commit_document(self._catalog, lease, document, self._storage)

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


def _readable(name: str) -> str:
    """A title from a file's name."""
    stem = name.rstrip("/").rsplit("/", 1)[-1]
    return stem.rsplit(".", 1)[0] if "." in stem[1:] else stem
