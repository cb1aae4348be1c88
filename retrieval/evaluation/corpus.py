"""Puts an evaluation's corpus into a catalog of its own, cut and embedded as ingestion would."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Document, IndexChange
from folio.settings import Settings
from retrieval.collections import DEFAULT_COLLECTION, Collections
from retrieval.embedder import Embedder
from retrieval.evaluation.datasets import EvalDocument
from retrieval.evaluation.vector_cache import VectorCache
from retrieval.generations import Generations
from retrieval.rerank import Reranker
from retrieval.search import Searcher


@dataclass(frozen=True)
class Piece:
    """A chunk of an evaluation's document: its span, headings, and the text that is embedded."""

    start: int
    end: int
    heading_path: tuple[str, ...]
    embedded_text: str
    token_count: int


Split = Callable[[EvalDocument], Sequence[Piece]]


@contextmanager
def searchable(
    documents: Iterable[EvalDocument],
    split: Split,
    embedder: Embedder,
    settings: Settings,
    reranker: Reranker | None = None,
) -> Iterator[Searcher]:
    """A calibrated searcher over these documents in a temporary folder that is removed afterwards."""
    with TemporaryDirectory(prefix="folio-eval-") as folder:
        temporary = settings.model_copy(update={"data_dir": Path(folder), "database_url": ""})
        catalog = Catalog(temporary.catalog_url)
        catalog.migrate()
        info = Collections(catalog, embedder).get_or_create(DEFAULT_COLLECTION)
        _write(catalog, info.id, list(documents), split, VectorCache(settings.cache_dir / "evaluation", embedder))
        Generations(catalog, temporary).publish(info.id)
        searcher = Searcher(catalog, embedder, temporary, reranker)
        try:
            searcher.calibrate()
            yield searcher
        finally:
            searcher.close()
            catalog.dispose()


def _write(
    catalog: Catalog, collection_id: str, documents: Sequence[EvalDocument], split: Split, cache: VectorCache
) -> None:
    pieces = [split(document) for document in documents]
    vectors = iter(cache.embed_documents([piece.embedded_text for part in pieces for piece in part]))
    with catalog.write() as session:
        for document, part in zip(documents, pieces, strict=True):
            session.add(_row(collection_id, document))
            session.add_all(_chunk(collection_id, document, n, piece, next(vectors)) for n, piece in enumerate(part))
            session.add(IndexChange(collection_id=collection_id, document_id=_key(document), kind="upsert"))


def _key(document: EvalDocument) -> str:
    return hashlib.sha256(document.id.encode()).hexdigest()[:32]


def _row(collection_id: str, document: EvalDocument) -> Document:
    return Document(
        id=_key(document),
        collection_id=collection_id,
        uri=document.id,
        title=document.title,
        media_type="text/plain",
        sha256=hashlib.sha256(document.text.encode()).hexdigest(),
        size_bytes=len(document.text.encode()),
        language=document.language,
        text=document.text,
    )


def _chunk(
    collection_id: str, document: EvalDocument, ordinal: int, piece: Piece, vector: np.typing.NDArray[np.float32]
) -> Chunk:
    return Chunk(
        collection_id=collection_id,
        document_id=_key(document),
        ordinal=ordinal,
        start=piece.start,
        end=piece.end,
        heading_path=list(piece.heading_path),
        text=document.text[piece.start : piece.end],
        token_count=piece.token_count,
        embedded_sha256=hashlib.sha256(piece.embedded_text.encode()).hexdigest(),
        vector=np.asarray(vector, "<f2").tobytes(),
    )
