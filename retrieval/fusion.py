"""Puts the two legs' results into one ranking that is never worse than its better half.

Every candidate has a score in both legs, whichever found it. Scores are standardised by what the whole collection would
score for this question (its mean and deviation, not those of the candidates): a leg that sets its best apart from the
collection speaks louder than one that finds everything equally near. Weights say how far each leg can be trusted
(`retrieval.calibration`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Weights:
    """The share each leg has in the fused score; they add up to 1."""

    dense: float
    lexical: float

    def as_dict(self) -> Mapping[str, float]:
        """For results and receipts."""
        return {"dense": round(self.dense, 4), "lexical": round(self.lexical, 4)}


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of a leg's scores over the whole collection for one question."""

    mean: float
    deviation: float

    def standardise(self, scores: Floats) -> Floats:
        """Scores in deviations above the mean; all 0 when the leg can't tell anything apart."""
        if self.deviation <= 0:
            return np.zeros_like(scores)
        return np.asarray((scores - self.mean) / self.deviation, dtype=np.float32)


def fuse(dense: Floats, dense_spread: Spread, lexical: Floats, lexical_spread: Spread, weights: Weights) -> Floats:
    """The fused score of each candidate, given its score in each leg."""
    fused = weights.dense * dense_spread.standardise(dense) + weights.lexical * lexical_spread.standardise(lexical)
    return np.asarray(fused, dtype=np.float32)
