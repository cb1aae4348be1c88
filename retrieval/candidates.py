"""What a search knows of each chunk that a leg returned, before and after fusion."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from retrieval.passages import StageScores

if TYPE_CHECKING:
    from retrieval.live import Snapshot

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Leg:
    """One leg's own results, best first."""

    ids: Ids
    scores: Floats

    def rank_of(self, chunk_id: int) -> int | None:
        """1 for the best; None if the leg did not return it."""
        found = np.flatnonzero(self.ids == chunk_id)
        return int(found[0]) + 1 if len(found) else None


@dataclass(frozen=True)
class Candidates:
    """The union of both legs; each candidate has both scores, whichever leg found it."""

    ids: Ids
    dense: Floats
    lexical: Floats
    dense_leg: Leg
    lexical_leg: Leg

    @classmethod
    def complete(
        cls, snapshot: "Snapshot", query: str, vector: Floats, dense_leg: Leg, lexical_leg: Leg
    ) -> "Candidates":
        """Give each leg's finds the score that the other leg has for them."""
        ids = np.union1d(dense_leg.ids, lexical_leg.ids)
        dense = snapshot.dense.vectors(ids) @ vector
        lexical = _scores_of(ids, lexical_leg)
        missing = np.setdiff1d(ids, lexical_leg.ids)
        if len(missing):
            found, scores = snapshot.lexical.search(query, len(missing), chunks=[int(i) for i in missing])
            lexical[np.searchsorted(ids, found)] = scores
        return cls(ids, np.asarray(dense, dtype=np.float32), lexical, dense_leg, lexical_leg)

    def stage_scores(self, position: int, fused: float, coverage: float) -> StageScores:
        """The scores of one candidate for the reader."""
        chunk_id = int(self.ids[position])
        return StageScores(
            dense_rank=self.dense_leg.rank_of(chunk_id),
            dense_score=float(self.dense[position]),
            lexical_rank=self.lexical_leg.rank_of(chunk_id),
            lexical_score=float(self.lexical[position]),
            term_coverage=coverage,
            fused_score=fused,
        )


def _scores_of(ids: Ids, leg: Leg) -> Floats:
    scores = np.zeros(len(ids), dtype=np.float32)
    scores[np.searchsorted(ids, leg.ids)] = leg.scores
    return scores
