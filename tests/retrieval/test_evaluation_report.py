"""The evaluation's figures and its page."""

import json
import re

import pytest
from click.testing import CliRunner

from retrieval.evaluation.datasets import EvalDocument, EvalQuestion, EvalSet
from retrieval.evaluation.measures import per_question
from retrieval.evaluation.report import render
from retrieval.evaluation.runs import EvalRun


@pytest.fixture
def chosen() -> EvalSet:
    documents = tuple(EvalDocument(f"d{n}", f"Title {n}", f"Text <b>{n}</b>.") for n in range(4))
    questions = tuple(EvalQuestion(f"q{n}", f"Question {n} & more?", "en", {f"d{n}": 1}) for n in range(2))
    return EvalSet("small", documents, questions)


@pytest.fixture
def run() -> EvalRun:
    ranked = {"q0": ["d0", "d1"], "q1": ["d3", "d2"]}
    times = {"q0": 12.0, "q1": 30.0}
    return EvalRun(ranked, ranked, ranked, ranked, times, {"q0": 0.0, "q1": 0.0}, {})


def test_the_page_shows_plots_and_failures_and_asks_nothing_of_anyone(chosen, run):
    page = render(chosen, run, per_question(chosen.questions, run.fused), {"n": 2, "ndcg@10": 0.5})
    assert page.count("<svg") == 3
    assert "Question 1 &amp; more?" in page
    assert "Question 0" not in page
    assert "expected, not found" in page
    assert "Text &lt;b&gt;3&lt;/b&gt;." in page
    assert not re.search(r"(?:src|href)=|https?:|@import|<script", page)


def test_the_page_shows_the_ranking_without_the_reranker_beside_it(chosen, run):
    run.rerank_ms["q0"] = 5.0
    assert "no reranker" in render(chosen, run, per_question(chosen.questions, run.fused), {})


def test_the_command_writes_the_page_and_what_a_reranker_gains(
    tmp_path, monkeypatch, settings, embedder, save_cross_encoder
):
    import folio.cli.eval_retrieval as command

    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "tea.txt").write_text("Green tea is brewed at eighty degrees.", encoding="utf-8")
    (folder / "rust.txt").write_text("Rust forms when iron meets water.", encoding="utf-8")
    question = {"id": "1", "question": "When does iron rust?", "doc_ids": ["rust.txt"]}
    (folder / "questions.jsonl").write_text(json.dumps(question), encoding="utf-8")
    monkeypatch.setattr(command, "settings", lambda: settings)
    monkeypatch.setattr("folio.services.build_embedder", lambda _: embedder)
    arguments = [
        str(folder),
        "--json",
        "--report",
        str(tmp_path / "page.html"),
        "--reranker",
        str(save_cross_encoder()),
    ]
    done = CliRunner().invoke(command.retrieval, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert printed["n"] == 1
    assert printed["reranker"]["ndcg@10"]["first"] == 1.0
    assert printed["reranker"]["p50_ms"] > 0
    assert "<svg" in (tmp_path / "page.html").read_text(encoding="utf-8")
