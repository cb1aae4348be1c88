"""Figures of a run by `ir_measures`, and the comparison of two runs by a paired randomisation test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ir_measures
import numpy as np
from ir_measures import RR, R, Success, nDCG

from retrieval.evaluation.datasets import EvalQuestion

MEASURES = {"ndcg@10": nDCG @ 10, "recall@10": R @ 10, "recall@100": R @ 100, "mrr@10": RR @ 10, "hit@1": Success @ 1}
DEPTHS = (1, 3, 5, 10, 20, 50, 100)
PERMUTATIONS = 10_000

Run = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same questions: the mean difference (second minus first) and how likely chance alone makes it."""

    n: int
    first: float
    second: float
    difference: float
    p_value: float
    better: int
    worse: int


def per_question(questions: Sequence[EvalQuestion], run: Run) -> dict[str, dict[str, float]]:
    """Every measure for every question. `run` holds document ids, best first, by question id."""
    names = {str(measure): name for name, measure in MEASURES.items()}
    figures: dict[str, dict[str, float]] = {question.id: dict.fromkeys(MEASURES, 0.0) for question in questions}
    for value in ir_measures.iter_calc(list(MEASURES.values()), _qrels(questions), _scored(run)):
        figures[value.query_id][names[str(value.measure)]] = float(value.value)
    return figures


def means(figures: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure over questions."""
    return {name: float(np.mean([values[name] for values in figures.values()])) for name in MEASURES}


def by_depth(questions: Sequence[EvalQuestion], run: Run) -> tuple[dict[int, float], dict[int, float]]:
    """Mean nDCG and mean recall at several depths."""
    found = ir_measures.calc_aggregate(
        [measure @ k for k in DEPTHS for measure in (nDCG, R)], _qrels(questions), _scored(run)
    )
    return {k: float(found[nDCG @ k]) for k in DEPTHS}, {k: float(found[R @ k]) for k in DEPTHS}


def compare(first: Mapping[str, float], second: Mapping[str, float]) -> Comparison:
    """Compare one measure of two runs over the questions both have (Fisher's randomisation test, two-sided)."""
    shared = sorted(first.keys() & second.keys())
    differences = np.asarray([second[key] - first[key] for key in shared])
    signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(PERMUTATIONS, len(shared)))
    observed = abs(differences.mean())
    extreme = int((np.abs((signs * differences).mean(axis=1)) >= observed - 1e-12).sum())
    return Comparison(
        n=len(shared),
        first=float(np.mean([first[key] for key in shared])),
        second=float(np.mean([second[key] for key in shared])),
        difference=float(differences.mean()),
        p_value=(extreme + 1) / (PERMUTATIONS + 1),
        better=int((differences > 1e-9).sum()),
        worse=int((differences < -1e-9).sum()),
    )


def _qrels(questions: Sequence[EvalQuestion]) -> list[ir_measures.Qrel]:
    return [ir_measures.Qrel(q.id, doc, grade) for q in questions for doc, grade in q.relevant.items()]


def _scored(run: Run) -> list[ir_measures.ScoredDoc]:
    return [
        ir_measures.ScoredDoc(question, document, float(-rank))
        for question, ranked in run.items()
        for rank, document in enumerate(ranked)
    ]
