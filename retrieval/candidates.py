"""What a search knows of each chunk that a leg returned."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from retrieval.dense import DenseIndex
from retrieval.lexical import LexicalSnapshot
from retrieval.passages import StageScores

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Leg:
    """One leg's own results, best first."""

    ids: Ids
    scores: Floats

    @functools.cached_property
    def ranks(self) -> dict[int, int]:
        """The rank of each chunk that the leg returned, 1 for the best."""
        return {chunk_id: rank for rank, chunk_id in enumerate(self.ids.tolist(), start=1)}

    def scores_for(self, ids: Ids) -> tuple[Floats, Ids]:
        """The scores of `ids` (ascending), 0 for those not returned, and which were not."""
        scores = np.zeros(len(ids), dtype=np.float32)
        known = np.isin(self.ids, ids)
        scores[np.searchsorted(ids, self.ids[known])] = self.scores[known]
        return scores, np.setdiff1d(ids, self.ids)


@dataclass(frozen=True)
class Candidates:
    """Chunks with the score of both legs, whichever found them; `ids` ascend."""

    ids: Ids
    dense: Floats
    lexical: Floats

    def stage_scores(self, position: int, dense_leg: Leg, lexical_leg: Leg, fused: float) -> StageScores:
        """The scores of one candidate for the reader."""
        chunk_id = int(self.ids[position])
        return StageScores(
            dense_rank=dense_leg.ranks.get(chunk_id),
            dense_score=float(self.dense[position]),
            lexical_rank=lexical_leg.ranks.get(chunk_id),
            lexical_score=float(self.lexical[position]),
            fused_score=fused,
        )


def dense_scores(index: DenseIndex, vector: Floats, ids: Ids) -> Floats:
    """The cosine of each chunk, found or not."""
    return np.asarray(index.vectors(ids) @ vector, dtype=np.float32)


def lexical_scores(index: LexicalSnapshot, wanted: Mapping[str, float], leg: Leg, ids: Ids) -> Floats:
    """The BM25 score of each chunk; what the leg did not return is asked for."""
    scores, missing = leg.scores_for(ids)
    if len(missing):
        found, found_scores = index.search(wanted, len(missing), chunks=missing.tolist())
        scores[np.searchsorted(ids, found)] = found_scores
    return scores
