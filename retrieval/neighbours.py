"""Candidates that are near each other draw each other's scores together (score regularisation, Diaz 2005).

Passages that answer one question tend to be like each other, so a passage among well scored neighbours is likelier to
answer it than one that stands alone with the same score. Only the best candidates' stored vectors are compared with
each other: nothing else of the collection is looked at.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

BEST = 100  # candidates, from the best on, that take part
NEAREST = 10  # of them count as a candidate's neighbours, and those that it is a neighbour of
SHARE = 0.45  # of the dense leg's weight: the neighbourhood is known by vectors alone and trusted as far as they are


def smooth(scores: Floats, vectors: Floats, dense_weight: float) -> Floats:
    """The scores, those of the best mixed with their neighbours' mean; no other candidate is moved past those.

    Args:
        scores: `(n,)`, one for each candidate.
        vectors: `(n, dimension)`, L2-normalised.
        dense_weight: the dense leg's share in the scores, 0 to 1; at 0 nothing moves.
    """
    best = np.argsort(-scores, kind="stable")[:BEST]
    share = SHARE * dense_weight
    if len(best) < 2 or share <= 0:
        return scores
    weights = _neighbourhood(vectors[best])
    totals = weights.sum(axis=1)
    means = np.where(totals > 0, weights @ scores[best] / np.maximum(totals, 1e-9), scores[best])
    smoothed = (1 - share) * scores[best] + share * means
    result = scores.astype(np.float32)
    result[best] = smoothed  # a mean of the best is never below the others
    return result


def _neighbourhood(vectors: Floats) -> Floats:
    """How near each two are that are neighbours, 0 for the others; symmetric."""
    nearness = np.maximum(vectors @ vectors.T, 0)
    np.fill_diagonal(nearness, 0)
    count = min(NEAREST, len(vectors) - 1)
    farthest = -np.partition(-nearness, count - 1, axis=1)[:, count - 1]
    nearest = np.where(nearness >= farthest[:, None], nearness, 0)
    return np.asarray(np.maximum(nearest, nearest.T), dtype=np.float32)
