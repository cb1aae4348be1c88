"""Laws of fusion and of the weights that calibration gives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from retrieval.calibration import Calibration, Trust
from retrieval.fusion import Spread, Weights, fuse

scores = arrays(np.float32, 12, elements=st.floats(-1, 30, width=32))
spreads = st.builds(Spread, st.floats(-1, 5), st.floats(0.01, 10))


@given(scores, scores, spreads, spreads)
def test_with_all_weight_on_one_leg_the_ranking_is_that_legs_own(dense, lexical, one, other):
    fused = fuse(dense, one, lexical, other, Weights(0.0, 1.0))
    assert (np.diff(fused[np.argsort(lexical, kind="stable")]) >= -1e-5).all()


@given(scores, scores, spreads, spreads, st.floats(0, 1))
def test_a_chunk_better_in_both_legs_is_never_behind(dense, lexical, one, other, share):
    fused = fuse(dense, one, lexical, other, Weights(share, 1 - share))
    for a in range(len(dense)):
        behind = (dense <= dense[a]) & (lexical <= lexical[a])
        assert (fused[behind] <= fused[a] + 1e-4).all()


def test_a_leg_that_tells_nothing_apart_adds_nothing():
    flat = np.full(3, 0.5, np.float32)
    fused = fuse(flat, Spread(0.5, 0.0), np.asarray([1, 3, 2], np.float32), Spread(0, 1), Weights(0.6, 0.4))
    assert list(np.argsort(-fused)) == [1, 2, 0]


@given(st.integers(1, 64), st.floats(0, 1), st.floats(0, 1))
def test_weights_are_shares_and_grow_with_trust(pairs, dense, lexical):
    weights = Calibration(languages={"zh": Trust(pairs=pairs, dense=dense, lexical=lexical)}).weights("zh")
    better = Calibration(languages={"zh": Trust(pairs=pairs, dense=min(1, dense + 0.1), lexical=lexical)}).weights("zh")
    assert abs(weights.dense + weights.lexical - 1) < 1e-6
    assert better.dense >= weights.dense - 1e-9


def test_an_embedder_that_does_not_know_the_language_gets_next_to_no_weight():
    measured = Calibration(
        languages={"zh": Trust(pairs=64, dense=0.42, lexical=0.86), "en": Trust(pairs=64, dense=0.9, lexical=0.85)}
    )
    assert measured.weights("zh").dense < 0.15
    assert 0.6 < measured.weights("en").dense < 0.7
