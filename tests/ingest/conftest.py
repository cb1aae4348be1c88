"""What ingestion's tests share: the parts on one temporary Folio, and documents put together by hand."""

import io
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from folio.catalog import Catalog
from folio.settings import Settings
from ingest import fetch as fetching
from ingest.chunking import ChunkSpan
from ingest.commit import NewDocument, commit_document
from ingest.documents import Documents
from ingest.lease import Lease, Leases
from ingest.parsed import Parsed
from ingest.reading import reading_fingerprint
from ingest.service import IncomingFile, Ingestion
from ingest.storage import FileStorage
from ingest.views import JobView
from ingest.worker import Worker
from retrieval.collections import Collections
from retrieval.generations import Generations
from retrieval.search import Searcher


class CountingEmbedder:
    """The real embedder; `texts` holds every text it was asked to embed for a document."""

    def __init__(self, real) -> None:
        self._real = real
        self.texts: list[str] = []

    def embed_documents(self, texts):
        self.texts.extend(texts)
        return self._real.embed_documents(texts)

    def __getattr__(self, name):
        return getattr(self._real, name)


@dataclass(frozen=True)
class Folio:
    """Ingestion, documents and search of one temporary Folio. `work` runs a worker until a job is finished."""

    catalog: Catalog
    settings: Settings
    ingestion: Ingestion
    documents: Documents
    searcher: Searcher
    generations: Generations
    collections: Collections
    embedder: CountingEmbedder
    work: Callable[[JobView], JobView]

    @property
    def storage(self) -> FileStorage:
        return FileStorage(self.settings.files_dir)

    def commit(self, lease: Lease, text: str) -> str:
        """Commit a document of one chunk with a made-up vector, as if it had been parsed and embedded."""
        vector = np.zeros(384, "<f2")
        vector[len(text) % 384] = 1
        chunk = ChunkSpan(0, len(text), text, (), None, None, 3, text)
        new = NewDocument(
            lease.title, "text/plain", "en", lease.sha256, lease.size_bytes, Parsed(text=text), [chunk],
            [vector.tobytes()], 0, reading=reading_fingerprint(self.settings),
        )  # fmt: skip
        return commit_document(self.catalog, lease, new, self.storage)

    def file(self, name: str, text: str) -> IncomingFile:
        """A stored text file."""
        stored = self.ingestion.store_upload(io.BytesIO(text.encode()), filename=name, max_bytes=10**6)
        return IncomingFile(f"upload:{name}", name, "text/plain", stored.sha256, stored.size_bytes)

    def leases(self, worker: str = "one", *, lease_s: float = 30, attempts: int = 3) -> Leases:
        return Leases(self.catalog, worker, lease_s=lease_s, attempts=attempts)


@pytest.fixture
def folio(catalog, settings, embedder):
    counting = CountingEmbedder(embedder)
    searcher = Searcher(catalog, counting, settings)
    collections = Collections(catalog, counting)
    generations = Generations(catalog, settings)
    ingestion = Ingestion(catalog, settings, collections)

    def work(job: JobView) -> JobView:
        if not job.is_finished:
            worker = Worker(catalog, counting, generations, settings)
            stop = threading.Event()
            timer = threading.Timer(600, stop.set)
            timer.start()
            worker.run(stop, finished=lambda: ingestion.job(job.id).is_finished)
            timer.cancel()
        return ingestion.job(job.id)

    documents = Documents(catalog, settings, searcher)
    yield Folio(
        catalog, settings, ingestion, documents, searcher, generations, collections, counting, work
    )  # fmt: skip
    searcher.close()


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that hangs up is what some tests are about."""


@pytest.fixture
def serve(monkeypatch) -> Iterator[Callable[[type[BaseHTTPRequestHandler]], str]]:
    """Serves a handler under the name `public.test`; every other name is checked as always."""
    servers = []
    really_public = fetching.public_address

    def resolve(host, port, *args, **options):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    def start(handler: type[BaseHTTPRequestHandler]) -> str:
        server = QuietServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        servers.append((server, thread))
        return f"http://public.test:{server.server_port}"

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(
        fetching,
        "public_address",
        lambda host, port: "127.0.0.1" if host == "public.test" else really_public(host, port),
    )
    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()
