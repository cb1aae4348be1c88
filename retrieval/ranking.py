"""The ranking of chunks for one question over one snapshot: both legs, fusion, feedback, fusion again, neighbours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from retrieval import feedback
from retrieval.candidates import Candidates, Floats, Ids, Leg, dense_scores, lexical_scores
from retrieval.fusion import Weights, fuse
from retrieval.live import Snapshot
from retrieval.neighbours import smooth
from retrieval.passages import StageScores
from retrieval.stopwatch import Stopwatch

ReadTexts = Callable[[Sequence[int]], list[tuple[int, str, str]]]


@dataclass(frozen=True)
class Ranked:
    """A chunk with its place in the ranking."""

    chunk_id: int
    score: float
    scores: StageScores


@dataclass(frozen=True)
class Question:
    """A question as the legs take it: terms with their counts, and its vector."""

    terms: dict[str, float]
    vector: Floats


def rank(
    snapshot: Snapshot,
    question: Question,
    weights: Weights,
    limit: int,
    documents: Sequence[str] | None,
    read_texts: ReadTexts,
    watch: Stopwatch,
) -> list[Ranked]:
    """Chunks by fused score, best first.

    Args:
        limit: chunks that each leg returns.
        documents: the only ones to search in; None means all.
        read_texts: gives the text and language of chunks, for feedback.
    """
    with watch.time("dense"):
        dense_leg = Leg(*snapshot.dense.search(question.vector, limit, documents))
    with watch.time("lexical"):
        lexical_leg = Leg(*snapshot.lexical.search(question.terms, limit, documents=documents))
        ids = np.union1d(dense_leg.ids, lexical_leg.ids)
        lexical = lexical_scores(snapshot.lexical, question.terms, lexical_leg, ids)
    with watch.time("fuse"):
        first = Candidates(ids, dense_scores(snapshot.dense, question.vector, ids), lexical)
        fused = _fuse(snapshot, question, first, question.terms, first.lexical, weights)
    with watch.time("lexical"):
        expanded = _expanded(snapshot, question, first.ids, fused, read_texts)
        lent = Leg(*snapshot.lexical.search(expanded, limit, documents=documents))
        ids = np.union1d(first.ids, lent.ids)
        expanded_scores = lexical_scores(snapshot.lexical, expanded, lent, ids)
        lexical = lexical_scores(snapshot.lexical, question.terms, Leg(first.ids, first.lexical), ids)
    with watch.time("fuse"):
        candidates = Candidates(ids, dense_scores(snapshot.dense, question.vector, ids), lexical)
        fused = _fuse(snapshot, question, candidates, expanded, expanded_scores, weights)
        fused = smooth(fused, snapshot.dense.vectors(ids), weights.dense)
        return [
            Ranked(
                int(ids[p]), float(fused[p]), candidates.stage_scores(int(p), dense_leg, lexical_leg, float(fused[p]))
            )
            for p in np.lexsort((ids, -fused))
        ]


def _expanded(
    snapshot: Snapshot, question: Question, ids: Ids, fused: Floats, read_texts: ReadTexts
) -> dict[str, float]:
    best = np.lexsort((ids, -fused))[: feedback.PASSAGES]
    if not len(best):
        return {}
    scores = {int(ids[p]): float(fused[p]) for p in best}
    texts = read_texts(list(scores))
    lending = [(text, language, scores[chunk_id]) for chunk_id, text, language in texts]
    return feedback.expand(question.terms, lending, snapshot.lexical)


def _fuse(
    snapshot: Snapshot,
    question: Question,
    candidates: Candidates,
    lexical_terms: dict[str, float],
    lexical: Floats,
    weights: Weights,
) -> Floats:
    return fuse(
        candidates.dense,
        snapshot.dense.spread(question.vector),
        lexical,
        snapshot.lexical.spread(lexical_terms),
        weights,
    )
