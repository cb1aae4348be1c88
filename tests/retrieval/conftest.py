"""Documents written to the catalog the way ingestion does: rows, vectors and the change log in one transaction."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Document, IndexChange
from folio.settings import Settings
from retrieval.collections import Collections
from retrieval.embedder import SentenceTransformerEmbedder
from retrieval.search import Searcher


class Library:
    """One collection that tests fill, change and search."""

    def __init__(self, catalog: Catalog, embedder: SentenceTransformerEmbedder) -> None:
        self.catalog = catalog
        self.embedder = embedder
        self.info = Collections(catalog, embedder).get_or_create("default")

    def put(self, uri: str, *texts: str, language: str = "en", title: str = "", **fields: object) -> str:
        """Write or replace a document of these chunks, joined by blank lines; its id."""
        vectors = self.embedder.embed_documents(texts)
        with self.catalog.write() as session:
            document = session.query(Document).filter_by(collection_id=self.info.id, uri=uri).one_or_none() or Document(
                collection_id=self.info.id, uri=uri, media_type="text/plain", size_bytes=0, version=0
            )
            document.title, document.text, document.language = title, "\n\n".join(texts), language
            document.sha256 = hashlib.sha256(document.text.encode()).hexdigest()
            document.version += 1
            for name, value in fields.items():
                setattr(document, name, value)
            session.add(document)
            session.flush()
            session.execute(delete(Chunk).where(Chunk.document_id == document.id))
            session.add_all(self._chunks(document, texts, vectors))
            session.add(IndexChange(collection_id=self.info.id, document_id=document.id, kind="upsert"))
            return document.id

    def remove(self, document_id: str) -> None:
        """Delete a document."""
        with self.catalog.write() as session:
            session.execute(delete(Document).where(Document.id == document_id))
            session.add(IndexChange(collection_id=self.info.id, document_id=document_id, kind="delete"))

    def _chunks(self, document: Document, texts: tuple[str, ...], vectors: np.ndarray) -> Iterator[Chunk]:
        start = 0
        for ordinal, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            yield Chunk(
                collection_id=self.info.id, document_id=document.id, ordinal=ordinal, start=start,
                end=start + len(text), text=text, token_count=len(text.split()), embedded_sha256="",
                vector=np.asarray(vector, "<f2").tobytes(),
            )  # fmt: skip
            start += len(text) + 2


@pytest.fixture
def library(catalog: Catalog, embedder: SentenceTransformerEmbedder) -> Library:
    """An empty collection named `default`."""
    return Library(catalog, embedder)


@pytest.fixture
def open_searcher(library: Library, settings: Settings) -> Iterator[Callable[[], Searcher]]:
    """Opens searchers as separate processes would, and closes them at the end."""
    opened: list[Searcher] = []

    def open_one() -> Searcher:
        opened.append(Searcher(library.catalog, library.embedder, settings))
        return opened[-1]

    yield open_one
    for searcher in opened:
        searcher.close()


@pytest.fixture
def searcher(open_searcher: Callable[[], Searcher]) -> Searcher:
    """A searcher over the library."""
    return open_searcher()


@pytest.fixture
def save_cross_encoder(tmp_path: Path) -> Callable[..., Path]:
    """Writes a tiny, untrained cross-encoder to a folder."""

    def save(labels: int = 1) -> Path:
        import torch
        from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

        folder = tmp_path / f"cross-encoder-{labels}"
        folder.mkdir()
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "tea", "coffee", "water", "?"]
        (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
        BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
            num_labels=labels,
        )  # fmt: skip
        BertForSequenceClassification(config).save_pretrained(folder)
        return folder

    return save
