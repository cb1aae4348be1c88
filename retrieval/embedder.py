"""The `Embedder` seam and its implementation on sentence-transformers.

Texts in, L2-normalised float32 vectors out. The model's own query and document prompts, maximum length and dimension
are honoured. On a CPU the model runs in bfloat16, which measures two to three times as fast at equal vectors.
"""

import copy
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from folio.errors import ModelMissing
from retrieval.declared import declared_dimension

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = npt.NDArray[np.float32]


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

    Args:
        name: the name to report and store.
        path: a local folder or a hub name.
        device: `auto`, `cpu`, `cuda`, ...
        batch_size: texts embedded at once.
    """

    def __init__(self, name: str, path: Path | str, *, device: str = "auto", batch_size: int = 32) -> None:
        self.name = name
        self._path = path
        self._device = None if device == "auto" else device
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._loaded: SentenceTransformer | None = None
        self._counting: Any = None
        self._fingerprint = ""

    def load(self) -> "SentenceTransformer":
        """Load the model now instead of at the first text.

        Raises:
            ModelMissing: there is no such model.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
        return self._loaded

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._loaded is not None

    def _counter(self) -> Any:
        """A tokenizer for counting only: a call sets padding and truncation on the tokenizer, and another thread may
        be embedding with the model's own at that moment."""
        model = self.load()
        with self._lock:
            if self._counting is None:
                self._counting = copy.deepcopy(model.tokenizer)
        return self._counting

    def _open(self) -> "SentenceTransformer":
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()

        try:
            model = SentenceTransformer(
                str(self._path), device=self._device, local_files_only=Path(self._path).exists()
            )
        except (OSError, ValueError) as exc:
            raise ModelMissing(
                f"The embedding model {self.name!r} can't be loaded from {self._path}. "
                "Run `folio models prepare`, or set FOLIO_EMBEDDING_MODEL to a model that exists."
            ) from exc
        model.to(torch.bfloat16)
        model.eval()
        return model

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights' and configuration's bytes, or of the name and revision of a hub model."""
        if not self._fingerprint:
            self._fingerprint = _fingerprint(self._path, self.load)
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector; known before the model is loaded where its files declare it."""
        declared = None if self.is_loaded else declared_dimension(self._path)
        return declared or int(self.load().get_embedding_dimension() or 0)

    @property
    def max_tokens(self) -> int:
        return int(self.load().max_seq_length or 512)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self.load().encode_document(
            list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        vector = self.load().encode_query(text, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vector, dtype=np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        encoded = self._counter()(list(texts), add_special_tokens=False, truncation=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]


def _fingerprint(path: Path | str, load: object) -> str:
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
