"""Laws of mixing scores among near candidates."""

import numpy as np
import pytest

from retrieval.neighbours import BEST, NEAREST, smooth


def unit(*vectors: list[float]) -> np.ndarray:
    rows = np.asarray(vectors, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_of_two_equal_scores_the_one_among_good_neighbours_wins():
    rng = np.random.default_rng(0)
    crowd, others = rng.normal(0, 0.1, (NEAREST, 64)), rng.normal(0, 1, (2 * NEAREST, 64))
    crowd[:, 0] += 3
    others[:, 0] = 0
    vectors = unit(*crowd, *others)
    scores = np.asarray([1.0] + [2.0] * (NEAREST - 1) + [1.0] + [0.0] * (2 * NEAREST - 1), np.float32)
    smoothed = smooth(scores, vectors, 2 / 3)
    assert smoothed[0] > smoothed[NEAREST]


@pytest.mark.parametrize("count", [0, 1])
def test_without_neighbours_nothing_moves(count):
    scores = np.arange(count, dtype=np.float32)
    assert (smooth(scores, np.ones((count, 4), np.float32), 0.67) == scores).all()


def test_vectors_that_are_not_trusted_move_nothing():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=30).astype(np.float32)
    assert (smooth(scores, unit(*rng.normal(size=(30, 8))), 0.0) == scores).all()


def test_candidates_beyond_the_best_stay_behind_them_in_their_own_order():
    rng = np.random.default_rng(0)
    scores = -np.arange(BEST + 40, dtype=np.float32)
    smoothed = smooth(scores, unit(*rng.normal(size=(BEST + 40, 8))), 0.67)
    assert smoothed[:BEST].min() >= smoothed[BEST:].max()
    assert (np.diff(smoothed[BEST:]) <= 0).all()


def test_orthogonal_candidates_keep_their_scores():
    scores = np.asarray([3.0, 2.0, 1.0], np.float32)
    assert smooth(scores, np.eye(3, dtype=np.float32), 0.67) == pytest.approx(scores)
