"""Puts the two legs' results into one ranking that is never worse than its better half.

Both legs score every candidate that either returned; scores are scaled to [0, 1] over the candidates and added with
weights that say how far each leg can be trusted (`retrieval.calibration`).
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


def fuse(dense: Floats, lexical: Floats, weights: Weights) -> Floats:
    """The fused score of each candidate, given its score in each leg."""
    return np.asarray(weights.dense * scale(dense) + weights.lexical * scale(lexical), dtype=np.float32)


def scale(scores: Floats) -> Floats:
    """Scores moved and stretched to [0, 1]; all 0 when they do not differ."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    return np.zeros_like(scores) if high <= low else np.asarray((scores - low) / (high - low), dtype=np.float32)
