"""`folio eval retrieval`: nDCG, recall, MRR and latency on judged questions, in a temporary Folio of its own."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from folio.cli.context import echo_json, settings

if TYPE_CHECKING:
    from ingest.parsed import Parsed
    from retrieval.embedder import Embedder
    from retrieval.evaluation.corpus import Split
    from retrieval.evaluation.datasets import EvalDocument, EvalSet
    from retrieval.evaluation.runs import EvalRun


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--split", default="dev", show_default=True, help="Which part of the questions.")
@click.option("--lang", "language", default="", help="Only questions in this language, such as `zh`.")
@click.option("--withhold", is_flag=True, help="Leave documents marked `withheld` out of the index.")
@click.option("--details", type=click.Path(dir_okay=False, path_type=Path), help="Write each question's figures here.")
@click.option("--compare", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Details of another run.")
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with plots and failures.")
@click.option("--reranker", help="Rerank with this cross-encoder, and show what it gains and costs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def retrieval(
    folder: Path,
    split: str,
    language: str,
    withhold: bool,
    details: Path | None,
    compare: Path | None,
    report: Path | None,
    reranker: str | None,
    as_json: bool,
) -> None:
    """Measure retrieval on the judged questions of FOLDER. Your collections are not touched."""
    from folio.services import build_embedder, build_reranker
    from retrieval.evaluation.corpus import searchable
    from retrieval.evaluation.datasets import read_set
    from retrieval.evaluation.measures import compare as compare_runs
    from retrieval.evaluation.measures import means, per_question
    from retrieval.evaluation.report import render
    from retrieval.evaluation.runs import run_questions

    chosen, parsed = read_texts(read_set(folder, split, language), withhold)
    chosen_settings = settings() if reranker is None else settings().model_copy(update={"reranker": reranker})
    embedder, judge = build_embedder(chosen_settings), build_reranker(chosen_settings)
    with searchable(chosen.documents, splitter(embedder, parsed), embedder, chosen_settings, judge) as searcher:
        run = run_questions(searcher, chosen.questions)
    figures = per_question(chosen.questions, run.fused)
    summary: dict[str, object] = {
        "n": len(figures),
        **means(figures),
        "latency_ms": run.percentiles(),
        "legs_ndcg@10": {
            leg: means(per_question(chosen.questions, ranked))["ndcg@10"]
            for leg, ranked in (("dense", run.dense), ("lexical", run.lexical))
        },
        "weights": run.weights,
    }
    if judge is not None:
        summary["reranker"] = _reranking(chosen, run, judge.name)
    if compare:
        other = json.loads(compare.read_text(encoding="utf-8"))
        first = {question: values["ndcg@10"] for question, values in other.items()}
        second = {question: values["ndcg@10"] for question, values in figures.items()}
        summary["compared_ndcg@10"] = asdict(compare_runs(first, second))
    if details:
        per = {
            q.id: {
                "question": q.text,
                **figures[q.id],
                "latency_ms": run.latency_ms[q.id],
                "found": run.fused[q.id][:10],
            }
            for q in chosen.questions
        }
        details.write_text(json.dumps(per, ensure_ascii=False, indent=1), encoding="utf-8")
    if report:
        report.write_text(render(chosen, run, figures, summary), encoding="utf-8")
    if as_json:
        echo_json(summary)
    else:
        for name, value in summary.items():
            click.echo(f"{name}: {value:.4f}" if isinstance(value, float) else f"{name}: {value}")


def _reranking(chosen: "EvalSet", run: "EvalRun", name: str) -> dict[str, object]:
    """What the reranker gains over the same ranking without it, and the time it takes."""
    from retrieval.evaluation.measures import compare, per_question

    first, second = (
        {question: values["ndcg@10"] for question, values in per_question(chosen.questions, ranked).items()}
        for ranked in (run.not_reranked, run.fused)
    )
    times = sorted(run.rerank_ms.values())
    return {"model": name, "p50_ms": times[len(times) // 2], "ndcg@10": asdict(compare(first, second))}


def read_texts(chosen: "EvalSet", withhold: bool) -> "tuple[EvalSet, dict[str, Parsed]]":
    """The set with the text of its files read, and what each document parsed to."""
    from ingest.parsed import Parsed
    from ingest.parsers.registry import is_supported, parse
    from retrieval.evaluation.datasets import EvalDocument
    from retrieval.language import query_language

    documents: list[EvalDocument] = []
    parsed: dict[str, Parsed] = {}
    for document in chosen.documents:
        if withhold and document.withheld:
            continue
        if document.path is None:
            parsed[document.id] = Parsed(text=document.text)
            documents.append(document)
        elif is_supported(document.path.name):
            read = parse(document.path, document.path.name)
            parsed[document.id] = read
            title = read.title or document.title
            documents.append(replace(document, title=title, text=read.text, language=query_language(read.text)))
    return replace(chosen, documents=tuple(documents)), parsed


def splitter(embedder: "Embedder", parsed: "dict[str, Parsed]") -> "Split":
    """Ingestion's own chunker, with the chunk size of the settings."""
    from ingest.chunking import Chunker
    from retrieval.evaluation.corpus import Piece

    chunker = Chunker(embedder, chunk_tokens=settings().chunk_tokens, overlap_tokens=settings().chunk_overlap_tokens)

    def split(document: "EvalDocument") -> list[Piece]:
        spans = chunker.split(parsed[document.id], document.title)
        return [Piece(s.start, s.end, s.heading_path, s.embedded, s.token_count) for s in spans]

    return split
