"""The operating curve of the refusal: what an operator gets at each threshold, from the details of one run."""

from collections.abc import Sequence

from pydantic import BaseModel

from generation.evaluation.answers import AnswerScore
from generation.refusal import Signals, refusal_probability

THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)


class CurvePoint(BaseModel):
    """Shares (0 to 1) of all questions, and the refusal's recall and precision, at a threshold.

    `right`: answered and the expected answer is in the text; `wrong`: answered otherwise, unanswerable questions
    included; recall and precision are None where nothing was to be refused, or nothing was.
    """

    threshold: float
    right: float
    wrong: float
    refused: float
    refusal_recall: float | None
    refusal_precision: float | None


def curve(scores: Sequence[AnswerScore], thresholds: Sequence[float] = THRESHOLDS) -> list[CurvePoint]:
    """What would have been answered at each threshold; nothing is asked again. Failed questions are left out."""
    kept = [s for s in scores if not s.error]
    return [_point(kept, threshold) for threshold in thresholds] if kept else []


def decided_again(scores: Sequence[AnswerScore], threshold: float) -> list[AnswerScore]:
    """Outcomes that were kept without refusing (`FOLIO_REFUSAL_THRESHOLD=1`), decided by today's weights.

    What the model itself refused stays refused.
    """
    return [_decided(s, threshold) if s.signals and s.sentences else s for s in scores]


def _decided(s: AnswerScore, threshold: float) -> AnswerScore:
    probability = refusal_probability(Signals.of(s.signals))
    decided: dict[str, object] = {"refusal_probability": probability, "refused": probability > threshold}
    if probability > threshold:
        decided |= dict.fromkeys(("exact_match", "f1", "cmrc_f1", "contains", "quote_contains"), 0.0)
        decided |= {"cited": False, "right_document": False, "sentences": 0, "supported": 0, "checked": []}
        decided |= {"citations": 0, "right_citations": 0}
    return s.model_copy(update=decided)


def _point(scores: Sequence[AnswerScore], threshold: float) -> CurvePoint:
    refused = [s for s in scores if s.refusal_probability > threshold]
    answered = [s for s in scores if s.refusal_probability <= threshold]
    right = sum(s.answerable and bool(s.draft_contains) for s in answered)
    should = sum(not s.answerable for s in scores)
    rightly = sum(not s.answerable for s in refused)
    return CurvePoint(
        threshold=threshold,
        right=round(right / len(scores), 4),
        wrong=round((len(answered) - right) / len(scores), 4),
        refused=round(len(refused) / len(scores), 4),
        refusal_recall=round(rightly / should, 4) if should else None,
        refusal_precision=round(rightly / len(refused), 4) if refused else None,
    )
