"""The `Embedder` seam and its implementation on sentence-transformers.

Texts in, L2-normalised float32 vectors out. The model's own query and document prompts, maximum length and dimension
are honoured.
"""

import hashlib
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from folio.errors import ConfigurationError
from retrieval.declared import declared_dimension
from retrieval.embedding_model import (
    DEFAULT_MAX_TOKENS,
    DOCUMENT_PROMPTS,
    QUERY_PROMPTS,
    TokenCounter,
    open_model,
    single_threaded_pool,
    token_counter,
)

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = npt.NDArray[np.float32]
USUAL_BYTES = 900  # of a chunk of 200 tokens, English or Chinese
SHORT_TEXTS = 8  # times the batch size, the most short texts in one batch


class Embedder(Protocol):
    """Turns texts into vectors that can be compared by inner product."""

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 over what decides the vectors; equal fingerprints mean comparable vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of one text that the model reads; what is beyond is not seen."""
        ...

    @property
    def streams(self) -> int:
        """Callers of `embed_documents` that it serves at the same time."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors `(len(texts), dimension)` of passages."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Vector `(dimension,)` of a question."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text by the model's own tokenizer, without special tokens."""
        ...


class SentenceTransformerEmbedder:
    """An embedding model of sentence-transformers, loaded at its first use.

    On a CPU, batches are embedded by one thread for each core: streams that share nothing do more than one batch
    whose every operation waits for all cores, and they leave room for parsers beside them.

    Args:
        name: the name to report and store.
        path: a local folder or a hub name.
        device: `auto`, `cpu`, `cuda`, ...
        batch_size: texts of usual length embedded at once; short ones go in larger batches.
        dimension: components kept of each vector, for models trained to be cut (Matryoshka); 0 keeps all.
        dtype: torch type of the weights, `bfloat16` or `float32`.
        query_prompt: what to put before questions; empty for the model's own prompt, if it has one.
        document_prompt: what to put before passages, likewise.
    """

    def __init__(
        self,
        name: str,
        path: Path | str,
        *,
        device: str = "auto",
        batch_size: int = 32,
        dimension: int = 0,
        dtype: str = "bfloat16",
        query_prompt: str = "",
        document_prompt: str = "",
    ) -> None:
        self.name = name
        self._path = path
        self._device = None if device == "auto" else device
        self._batch_size = batch_size
        self._dimension = dimension
        self._dtype = dtype
        self._query_prompt = query_prompt
        self._document_prompt = document_prompt
        self._lock = threading.Lock()
        self._loaded: SentenceTransformer | None = None
        self._counting: TokenCounter | None = None
        self._streams: ThreadPoolExecutor | None = None
        # A question is too short to be shared by cores, and waiting for one that is busy costs ten times what it saves.
        self._questions: ThreadPoolExecutor | None = None
        self._fingerprint = ""

    def load(self) -> "SentenceTransformer":
        """Load the model now instead of at the first text.

        Raises:
            ModelMissing: there is no such model.
            ConfigurationError: its vectors have fewer components than the settings ask for.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
        return self._loaded

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._loaded is not None

    def _open(self) -> "SentenceTransformer":
        model = open_model(self.name, self._path, device=self._device, dtype=self._dtype)
        whole = int(model.get_embedding_dimension() or 0)
        if self._dimension > whole:
            raise ConfigurationError(
                f"FOLIO_EMBEDDING_DIMENSION is {self._dimension}, but vectors of {self.name!r} have {whole} "
                "components. Set it to fewer, or to 0 for all."
            )
        model.truncate_dim = self._dimension or model.truncate_dim
        # A tokenizer's first call sets its padding and truncation; after it, any number of threads may read.
        model.encode_document(["warm"])
        self._counting = token_counter(model.tokenizer)
        if model.device.type == "cpu":
            self._streams = single_threaded_pool(_cores())
            self._questions = single_threaded_pool(_cores())
        return model

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights' and configuration's bytes (of a hub model, its name) and of settings that matter."""
        if not self._fingerprint:
            whole = _fingerprint(self._path)
            ours = [self._dimension, self._query_prompt, self._document_prompt]
            changed = hashlib.sha256(repr([whole, *ours]).encode()).hexdigest()
            self._fingerprint = changed if any(ours) else whole
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector; known before the model is loaded where its files declare it."""
        declared = None if self.is_loaded else declared_dimension(self._path)
        return self._dimension or declared or int(self.load().get_embedding_dimension() or 0)

    @property
    def max_tokens(self) -> int:
        """Tokens of one text that the model reads, special tokens included and its own document prompt taken off."""
        model = self.load()
        prompt = self._prompt(model, DOCUMENT_PROMPTS)
        return int(model.max_seq_length or DEFAULT_MAX_TOKENS) - (self.count_tokens([prompt])[0] if prompt else 0)

    @property
    def streams(self) -> int:
        self.load()
        return _cores() if self._streams is not None else 1

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        model = self.load()
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        batches = length_sorted_batches(texts, self._batch_size)
        in_turn = map if self._streams is None else self._streams.map
        embedded = in_turn(lambda places: self._embed(model, [texts[place] for place in places]), batches)
        for places, rows in zip(batches, embedded, strict=True):
            vectors[places] = rows
        return vectors

    def _embed(self, model: "SentenceTransformer", batch: list[str]) -> Vectors:
        # The library takes "document" before "passage" even where only the latter says something.
        prompt = self._prompt(model, DOCUMENT_PROMPTS)
        rows = model.encode_document(
            batch, prompt=prompt, batch_size=len(batch), normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(rows, dtype=np.float32)

    def _prompt(self, model: "SentenceTransformer", names: Sequence[str]) -> str:
        given = self._query_prompt if names is QUERY_PROMPTS else self._document_prompt
        return given or next((model.prompts[name] for name in names if model.prompts.get(name)), "")

    def embed_query(self, text: str) -> Vectors:
        model = self.load()
        prompt = self._prompt(model, QUERY_PROMPTS)

        def embed() -> Vectors:
            vector = model.encode_query(text, prompt=prompt, normalize_embeddings=True, show_progress_bar=False)
            return np.asarray(vector, dtype=np.float32)

        return embed() if self._questions is None else self._questions.submit(embed).result()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self.load()
        assert self._counting is not None
        return self._counting(texts)


def length_sorted_batches(texts: Sequence[str], batch_size: int) -> list[list[int]]:
    """Places of texts of similar length, longest first, so that little is padded and the last to finish is short.

    Args:
        batch_size: as in `texts_at_once`.
    """
    # Bytes of UTF-8 tell tokens better than characters do: a Chinese character is a token and three bytes.
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in texts]
    batches: list[list[int]] = []
    room = 0
    for place in sorted(range(len(texts)), key=sizes.__getitem__, reverse=True):
        if not batches or room == 0:
            room = texts_at_once(batch_size, sizes[place])
            batches.append([])
        batches[-1].append(place)
        room -= 1
    return batches


def texts_at_once(batch_size: int, longest_bytes: int) -> int:
    """Texts of at most `longest_bytes` (UTF-8) that take about as long as `batch_size` texts of usual length."""
    return max(batch_size, min(SHORT_TEXTS * batch_size, batch_size * USUAL_BYTES // max(longest_bytes, 1)))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fingerprint(path: Path | str) -> str:
    digest = hashlib.sha256()
    folder = Path(path)
    if not folder.is_dir():
        digest.update(str(path).encode())
        return digest.hexdigest()
    for file in sorted(p for p in folder.rglob("*") if p.suffix in {".json", ".safetensors", ".bin"}):
        digest.update(file.relative_to(folder).as_posix().encode())
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
