"""Asks every question of a set and adds up the figures.

Citation recall: share of sentences that a citation supports; citation precision: share of cited documents that hold the
answer (the deterministic reading of ALCE: support is what `generation.support` finds, not another model's opinion).
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic import BaseModel, Field

from folio.errors import FolioError
from generation.answer import Answer, AskRequest
from generation.answering import Answerer
from generation.evaluation.questions import Question
from generation.evaluation.scores import cmrc_f1, contains, exact_match, f1, without_marks
from generation.receipts import Receipts


class SupportedSentence(BaseModel):
    """A sentence shown as supported, and what it cites."""

    text: str
    quotes: list[str]


class AnswerScore(BaseModel):
    """One question's outcome. Scores are 0 to 1; `error` is empty unless there was no answer.

    `draft_contains` is of what the model wrote, refused or not; `checked` are the sentences shown as supported, with
    the quotes of their citations.
    """

    id: str
    question: str
    language: str
    answerable: bool
    expected: list[str]
    answer: str = ""
    answer_id: str = ""
    refused: bool = False
    exact_match: float = 0.0
    f1: float = 0.0
    cmrc_f1: float = 0.0
    contains: float = 0.0
    draft_contains: float = 0.0
    cited: bool = False
    right_document: bool = False
    quote_contains: float = 0.0
    sentences: int = 0
    supported: int = 0
    citations: int = 0
    right_citations: int = 0
    ttft_ms: float = 0.0
    checked: list[SupportedSentence] = Field(default_factory=list)
    signals: dict[str, float] = Field(default_factory=dict)
    refusal_probability: float = 0.0
    error: str = ""


def measure(
    answerer: Answerer,
    questions: Sequence[Question],
    *,
    collection: str,
    top_k: int | None = None,
    concurrency: int = 4,
    receipts: Receipts | None = None,
    done: Callable[[AnswerScore], object] = lambda score: None,
) -> list[AnswerScore]:
    """Ask all questions, `concurrency` at a time (the engine batches them).

    Args:
        receipts: adds what decided each answer.
        done: called with each outcome when it is there, from several threads.
    """

    def one(question: Question) -> AnswerScore:
        try:
            answer = answerer.ask(AskRequest(question=question.text, collection=collection, top_k=top_k))
        except FolioError as exc:
            scored = _blank(question).model_copy(update={"error": f"{exc.code}: {exc.message}"})
        else:
            scored = score(question, answer)
            if receipts is not None:
                receipt = receipts.get(answer.answer_id)
                update = {
                    "signals": receipt.signals,
                    "refusal_probability": receipt.refusal_probability,
                    "draft_contains": contains(without_marks(receipt.raw), question.answers),
                }
                scored = scored.model_copy(update=update)
        done(scored)
        return scored

    with ThreadPoolExecutor(concurrency) as pool:
        return list(pool.map(one, questions))


def score(question: Question, answer: Answer) -> AnswerScore:
    """Compare an answer with what was expected."""
    text = without_marks(answer.answer)
    right = [c for c in answer.citations if _holds_answer(c.uri, question.documents)]
    quoted = " ".join(c.quote for c in answer.citations)
    shown = not answer.refused
    return _blank(question).model_copy(
        update={
            "answer": answer.answer,
            "answer_id": answer.answer_id,
            "refused": answer.refused,
            "exact_match": shown * exact_match(text, question.answers),
            "f1": shown * f1(text, question.answers),
            "cmrc_f1": shown * cmrc_f1(text, question.answers),
            "contains": shown * contains(text, question.answers),
            "cited": bool(answer.citations),
            "right_document": bool(right),
            "quote_contains": contains(quoted, question.answers),
            "sentences": len(answer.sentences),
            "supported": sum(s.supported for s in answer.sentences),
            "citations": len(answer.citations),
            "right_citations": len(right),
            "checked": [
                SupportedSentence(text=s.text, quotes=[c.quote for c in answer.citations if c.n in s.citations])
                for s in answer.sentences
                if s.supported
            ],
            "ttft_ms": answer.timing.ttft_ms,
        }
    )


def figures(scores: Sequence[AnswerScore]) -> dict[str, Any]:
    """The figures of a run, as `folio eval answers` prints them."""
    answerable = [s for s in scores if s.answerable]
    given = [s for s in scores if not s.refused and not s.error]
    right = [s for s in given if s.contains]
    should = [s for s in scores if not s.answerable]
    refused = [s for s in scores if s.refused]
    rightly = sum(not s.answerable for s in refused)
    times = sorted(s.ttft_ms for s in scores if not s.error)
    return {
        "n": len(scores),
        "answerable": len(answerable),
        "errors": sum(bool(s.error) for s in scores),
        "exact_match": _mean(s.exact_match for s in answerable),
        "f1": _mean(s.f1 for s in answerable),
        "cmrc_f1": _mean(s.cmrc_f1 for s in answerable),
        "contains": _mean(s.contains for s in answerable),
        "contains_and_right_document": _mean(s.contains * s.right_document for s in answerable),
        "answerable_refused": _mean(float(s.refused) for s in answerable),
        "refusal": {
            "precision": rightly / len(refused) if refused else None,
            "recall": rightly / len(should) if should else None,
            "unanswerable": len(should),
        },
        "citation": {
            "cited": _mean(float(s.cited) for s in given),
            "precision": _ratio(sum(s.right_citations for s in given), sum(s.citations for s in given)),
            "recall": _ratio(sum(s.supported for s in given), sum(s.sentences for s in given)),
            "quote_contains_answer": _mean(s.quote_contains for s in right),
        },
        "ttft_ms": {
            "p50": statistics.median(times) if times else None,
            "p95": times[int(0.95 * (len(times) - 1))] if times else None,
        },
    }


def changed(before: Sequence[AnswerScore], after: Sequence[AnswerScore]) -> dict[str, list[str]]:
    """Question ids that were won and lost between two runs."""
    earlier = {s.id: _won(s) for s in before}
    later = {s.id: _won(s) for s in after}
    shared = earlier.keys() & later.keys()
    return {
        "won": sorted(i for i in shared if later[i] and not earlier[i]),
        "lost": sorted(i for i in shared if earlier[i] and not later[i]),
    }


def _won(s: AnswerScore) -> bool:
    return bool(s.contains) if s.answerable else s.refused


def _blank(question: Question) -> AnswerScore:
    return AnswerScore(
        id=question.id,
        question=question.text,
        language=question.language,
        answerable=question.answerable,
        expected=list(question.answers),
    )


def _holds_answer(uri: str, documents: Sequence[str]) -> bool:
    return any(uri == document or uri.endswith(f"/{document}") for document in documents)


def _mean(values: Iterable[float]) -> float | None:
    kept = list(values)
    return round(statistics.fmean(kept), 4) if kept else None


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
