"""Language-like documents with plausible vectors, written straight into a catalog: large collections in a minute.

Words are those of the sample documents by their frequency, with invented ones as the long tail (Zipf), and each
document has words of its own. A vector is the sum of its topic's, its document's and its own part, in directions whose
variance falls off as a real model's does; neighbours are about as hard to find among them as among real passages.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sqlalchemy import insert

from folio.catalog import Catalog
from folio.catalog.models import Chunk, Document, IndexChange, new_id

VOCABULARY = 60_000
WORDS_PER_CHUNK = 110
CHUNKS_PER_DOCUMENT = 10
OWN_WORDS = 60
OWN_SHARE = 0.3  # of a document's words that come from its own
TOPICS = 300
TOPIC_PART, DOCUMENT_PART, CHUNK_PART = 0.55, 0.57, 0.6  # of a vector's length
DECAY = 1.1  # of the directions' variance, as a power of their number
_SAMPLES = Path(__file__).resolve().parents[1] / "data" / "en"
_SYLLABLES = [
    c + v for c in ("b", "br", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v") for v in "aeiou"
]

Words = npt.NDArray[np.str_]
Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SyntheticDocument:
    """A document's chunks."""

    texts: list[str]


class SyntheticText:
    """Draws documents and questions; the same ones for the same seed."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._words = _vocabulary(self._rng)
        weights = 1 / (np.arange(len(self._words)) + 2.7)
        self._cumulative = np.cumsum(weights / weights.sum())

    def documents(self, chunks: int) -> Iterator[SyntheticDocument]:
        """Documents with `chunks` chunks in all."""
        for first in range(0, chunks, CHUNKS_PER_DOCUMENT):
            yield self._document(min(CHUNKS_PER_DOCUMENT, chunks - first))

    def question(self, text: str) -> str:
        """A question with eight words of a text."""
        words = re.findall(r"\w+", text)
        begin = int(self._rng.integers(0, len(words) - 20))
        picked = self._rng.choice(words[begin : begin + 20], size=8, replace=False)
        return f"What is {' '.join(picked).lower()}?"

    def _document(self, chunks: int) -> SyntheticDocument:
        size = chunks * WORDS_PER_CHUNK
        common = np.searchsorted(self._cumulative, self._rng.random(size))
        own = self._rng.integers(200, len(self._words), OWN_WORDS)[self._rng.integers(0, OWN_WORDS, size)]
        drawn = np.where(self._rng.random(size) < OWN_SHARE, own, common).clip(max=len(self._words) - 1)
        words = self._words[drawn].reshape(chunks, WORDS_PER_CHUNK)
        return SyntheticDocument([_sentences(row) for row in words])


class SyntheticVectors:
    """Draws L2-normalised vectors, document by document or many at once."""

    def __init__(self, dimension: int, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        scale = (np.arange(1, dimension + 1) + 10.0) ** (-DECAY / 2)
        self._scale = (scale / np.linalg.norm(scale)).astype(np.float32)
        self._topics = self._parts(TOPICS)

    def document(self, chunks: int) -> Vectors:
        """The chunks of one document, `(chunks, dimension)`."""
        return self.documents(1, chunks)

    def documents(self, count: int, chunks: int) -> Vectors:
        """The chunks of `count` documents, `(count * chunks, dimension)`."""
        topics = self._topics[self._rng.integers(0, TOPICS, count)]
        shared = TOPIC_PART * topics + DOCUMENT_PART * self._parts(count)
        vectors = np.repeat(shared, chunks, axis=0) + CHUNK_PART * self._parts(count * chunks)
        normalised: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalised

    def _parts(self, count: int) -> Vectors:
        return self._rng.standard_normal((count, len(self._scale)), dtype=np.float32) * self._scale


def fill(catalog: Catalog, collection_id: str, dimension: int, chunks: int) -> None:
    """Write documents with `chunks` chunks in one transaction."""
    text, space = SyntheticText(), SyntheticVectors(dimension)
    with catalog.write() as session:
        for number, document in enumerate(text.documents(chunks)):
            document_id = new_id()
            vectors = space.document(len(document.texts))
            session.execute(insert(Document), [_document_row(collection_id, document_id, number, document)])
            session.execute(insert(Chunk), list(_chunk_rows(collection_id, document_id, document, vectors)))
            session.add(IndexChange(collection_id=collection_id, document_id=document_id, kind="upsert"))


def _vocabulary(rng: np.random.Generator) -> Words:
    text = " ".join(path.read_text(encoding="utf-8") for path in sorted(_SAMPLES.glob("*.md")))
    text += " ".join(path.read_text(encoding="utf-8") for path in sorted(_SAMPLES.glob("*.txt")))
    real = [word for word, _ in Counter(re.findall(r"[a-z]+", text.lower())).most_common()]
    invented: set[str] = set()
    while len(invented) < VOCABULARY - len(real):
        invented.add("".join(rng.choice(_SYLLABLES, size=int(rng.integers(2, 5)))))
    return np.asarray([*real, *sorted(invented, key=lambda word: hashlib.sha256(word.encode()).digest())])


def _sentences(words: Words) -> str:
    parts = [" ".join(part).capitalize() for part in np.array_split(words, 8)]
    return ". ".join(parts) + "."


def _document_row(collection_id: str, document_id: str, number: int, document: SyntheticDocument) -> dict[str, object]:
    text = "\n\n".join(document.texts)
    return {
        "id": document_id, "collection_id": collection_id, "uri": f"synthetic/{number}.txt", "title": f"Note {number}",
        "media_type": "text/plain", "sha256": hashlib.sha256(text.encode()).hexdigest(), "size_bytes": len(text),
        "language": "en", "text": text,
    }  # fmt: skip


def _chunk_rows(
    collection_id: str, document_id: str, document: SyntheticDocument, vectors: Vectors
) -> Iterator[dict[str, object]]:
    start = 0
    for ordinal, (text, vector) in enumerate(zip(document.texts, vectors, strict=True)):
        yield {
            "collection_id": collection_id, "document_id": document_id, "ordinal": ordinal, "start": start,
            "end": start + len(text), "heading_path": [], "text": text, "token_count": WORDS_PER_CHUNK,
            "embedded_sha256": "", "vector": vector.astype("<f2").tobytes(),
        }  # fmt: skip
        start += len(text) + 2
