"""Asks a searcher every question of a set and keeps the documents it ranks, with the time each search took."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from retrieval.evaluation.datasets import EvalQuestion
from retrieval.search import Searcher

DEPTH = 100  # documents ranked a question


@dataclass(frozen=True)
class EvalRun:
    """Documents by question, best first; the same without reranking and by each leg alone; milliseconds a search.

    `rerank_ms` is the part of each search's time that the reranker took, 0 without one.
    """

    fused: dict[str, list[str]]
    not_reranked: dict[str, list[str]]
    dense: dict[str, list[str]]
    lexical: dict[str, list[str]]
    latency_ms: dict[str, float]
    rerank_ms: dict[str, float]
    weights: dict[str, dict[str, float]]

    @property
    def reranked(self) -> bool:
        """Whether a reranker took part."""
        return any(self.rerank_ms.values())

    def percentiles(self) -> dict[str, float]:
        """Median and 95th percentile of the latency, in milliseconds."""
        values = list(self.latency_ms.values())
        return {"p50": float(np.percentile(values, 50)), "p95": float(np.percentile(values, 95))}


def run_questions(searcher: Searcher, questions: Sequence[EvalQuestion]) -> EvalRun:
    """Search for every question: timed as users search, then ranked deep enough for recall at 100."""
    run = EvalRun({}, {}, {}, {}, {}, {}, {})
    searcher.search(questions[0].text)
    for question in tqdm(questions, unit="question", disable=None):
        started = time.perf_counter()
        result = searcher.search(question.text)
        run.latency_ms[question.id] = (time.perf_counter() - started) * 1000
        run.rerank_ms[question.id] = result.timing.rerank_ms
        run.weights[result.language] = dict(result.weights)
        ranking = searcher.rank_documents(question.text, depth=DEPTH)
        run.fused[question.id] = ranking.fused
        run.not_reranked[question.id] = ranking.not_reranked
        run.dense[question.id] = ranking.dense
        run.lexical[question.id] = ranking.lexical
    return run
