"""Reranking: a slower judge reads the question with each of the best candidates and puts them in a new order."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from folio.errors import ModelMissing
from retrieval.ranking import Ranked, ReadTexts

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

Floats = npt.NDArray[np.float32]


class Reranker(Protocol):
    """Judges how well passages answer a question."""

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        ...

    def score(self, question: str, passages: Sequence[str]) -> Floats:
        """A score for each passage, `(len(passages),)`; only their order matters."""
        ...


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers, loaded at its first use.

    Args:
        name: a hub name or a local folder.
        device: `auto`, `cpu`, `cuda`, ...
    """

    def __init__(self, name: str, *, device: str = "auto") -> None:
        self.name = name
        self._device = None if device == "auto" else device
        self._lock = threading.Lock()
        self._loaded: CrossEncoder | None = None

    def score(self, question: str, passages: Sequence[str]) -> Floats:
        """Raises:
        ModelMissing: there is no such model.
        """
        if not passages:
            return np.zeros(0, np.float32)
        pairs = [(question, passage) for passage in passages]
        scores = self._model().predict(pairs, show_progress_bar=False)
        return np.asarray(scores, dtype=np.float32).reshape(len(passages))

    def _model(self) -> "CrossEncoder":
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
        return self._loaded

    def _open(self) -> "CrossEncoder":
        from sentence_transformers import CrossEncoder

        try:
            model = CrossEncoder(self.name, device=self._device, local_files_only=Path(self.name).exists())
        except (OSError, ValueError) as exc:
            raise ModelMissing(
                f"The reranking model {self.name!r} can't be loaded. "
                "Set FOLIO_RERANKER to a cross-encoder that exists, or leave it empty."
            ) from exc
        if model.config.num_labels != 1:
            raise ModelMissing(
                f"{self.name!r} is no reranking model: it gives {model.config.num_labels} scores a passage, not one. "
                "Set FOLIO_RERANKER to a cross-encoder, or leave it empty."
            )
        return model


def rerank(
    question: str, ranked: Sequence[Ranked], reranker: Reranker, candidates: int, read_texts: ReadTexts
) -> list[Ranked]:
    """The best `candidates` in the reranker's order, the others behind them as they were.

    Args:
        read_texts: gives the text of chunks, title and headings with it.
    """
    head = {item.chunk_id: item for item in ranked[:candidates]}
    texts = read_texts(list(head))
    scores = reranker.score(question, [text for _, text, _ in texts])
    judged = [
        replace(head[chunk_id], score=float(score), scores=replace(head[chunk_id].scores, rerank_score=float(score)))
        for (chunk_id, _, _), score in zip(texts, scores, strict=True)
    ]
    judged.sort(key=lambda item: -item.score)
    known = {item.chunk_id for item in judged}
    return [*judged, *(item for item in ranked if item.chunk_id not in known)]
