"""The report page of a retrieval evaluation: one HTML file that needs nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass

from jinja2 import Environment

from retrieval.evaluation.charts import histogram, lines
from retrieval.evaluation.datasets import EvalDocument, EvalQuestion, EvalSet
from retrieval.evaluation.measures import by_depth
from retrieval.evaluation.runs import EvalRun

FAILURES = 40  # questions shown, the worst first
SHOWN = 3  # documents of each
SNIPPET = 300  # characters


@dataclass(frozen=True)
class _Failure:
    question: EvalQuestion
    ndcg: float
    expected: list[tuple[str, EvalDocument]]
    found: list[EvalDocument]


def render(
    chosen: EvalSet, run: EvalRun, figures: Mapping[str, Mapping[str, float]], summary: Mapping[str, object]
) -> str:
    """The page as HTML.

    Args:
        figures: each question's measures.
        summary: what the command prints.
    """
    rankings = {"Folio": run.fused, "dense": run.dense, "lexical": run.lexical}
    if run.reranked:
        rankings["no reranker"] = run.not_reranked
    depths = {name: by_depth(chosen.questions, ranking) for name, ranking in rankings.items()}
    return (
        Environment(autoescape=True)
        .from_string(_PAGE)
        .render(
            name=chosen.name,
            summary={name: _shown(value) for name, value in summary.items()},
            charts=[
                lines("nDCG by depth", {name: ndcg for name, (ndcg, _) in depths.items()}),
                lines("Recall by depth", {name: recall for name, (_, recall) in depths.items()}),
                histogram("Latency of a search", list(run.latency_ms.values()), "ms"),
            ],
            failures=_failures(chosen, run, figures),
            failed=sum(values["ndcg@10"] < 1 for values in figures.values()),
            snippet=SNIPPET,
        )
    )


def _failures(chosen: EvalSet, run: EvalRun, figures: Mapping[str, Mapping[str, float]]) -> list[_Failure]:
    documents = {document.id: document for document in chosen.documents}
    worst = sorted(
        (q for q in chosen.questions if figures[q.id]["ndcg@10"] < 1), key=lambda q: figures[q.id]["ndcg@10"]
    )
    return [
        _Failure(
            question,
            figures[question.id]["ndcg@10"],
            [(_place(key, run.fused[question.id]), documents[key]) for key in question.relevant if key in documents][
                :SHOWN
            ],
            [documents[key] for key in run.fused[question.id][:SHOWN]],
        )
        for question in worst[:FAILURES]
    ]


def _place(document: str, ranking: list[str]) -> str:
    return f"rank {ranking.index(document) + 1}" if document in ranking else "not found"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(each)}" for name, each in value.items())
    return f"{value:.4f}" if isinstance(value, float) else str(value)


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Retrieval on {{ name }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse } td { padding: .15rem 1rem .15rem 0; vertical-align: top }
svg { max-width: 100%; font-size: 12px } .t { font-weight: 600; font-size: 14px } .m { text-anchor: middle }
.e { text-anchor: end } article { border-top: 1px solid #ddd; padding: .6rem 0 } h3 { margin: 0 }
p { margin: .2rem 0 } .id { color: #666 } .good { border-left: 3px solid #3c8d40; padding-left: .5rem }
.bad { border-left: 3px solid #c2571a; padding-left: .5rem }
</style>
<h1>Retrieval on {{ name }}</h1>
<table>{% for key, value in summary.items() %}<tr><td>{{ key }}</td><td>{{ value }}</td></tr>{% endfor %}</table>
{% for chart in charts %}{{ chart | safe }}{% endfor %}
<h2>Failures worth reading</h2>
<p>{{ failed }} questions have an nDCG@10 below 1; the {{ failures | length }} worst follow.</p>
{% for failure in failures %}<article>
<h3>{{ failure.question.text }}</h3>
<p class="id">{{ failure.question.id }}, nDCG@10 {{ "%.3f" | format(failure.ndcg) }}</p>
{% for place, document in failure.expected %}
<p class="good"><b>expected, {{ place }}:</b> {{ document.title }} <span class="id">{{ document.id }}</span><br>
{{ document.text[:snippet] }}</p>{% endfor %}
{% for document in failure.found %}
<p class="bad"><b>rank {{ loop.index }}:</b> {{ document.title }} <span class="id">{{ document.id }}</span><br>
{{ document.text[:snippet] }}</p>{% endfor %}
</article>{% endfor %}
</html>
"""
