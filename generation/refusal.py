"""Whether to refuse, from all that is known: what was retrieved, how likely the model found it that the sources lack
the answer, and what the check of the answer said.

The weights are a logistic regression's, fitted on questions written for that purpose (`docs/quality.md` shows which,
and the operating curve); `refusal_threshold` moves the point of operation.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from generation import facts
from generation.engine import TokenLogprob
from generation.instruction import NOT_FOUND
from generation.prompt import NumberedPassage
from generation.support import Verdict
from retrieval.analysis import question_terms, terms
from retrieval.passages import Passage

_SAID_SO = re.compile(
    r"\b(?:not|n't)\s+(?:\w+\s+){0,2}(?:specif|mention|provid|stat|giv|contain|found|includ|answer)\w*\b[^.]{0,40}"
    r"\b(?:source|passage|document|text)s?\b"
    r"|(?:sources?|passages?|documents?|texts?)\s+(?:do|does|did)\s*(?:not|n't)\s+(?:specif|mention|provid|state|giv|contain|say)"
    r"|(?:来源|资料|文档|文中|段落|原文)[^。]{0,12}(?:没有|并未|未)(?:提|说|给|包含|指)"
    r"|(?:没有|并未|未)在?(?:来源|资料|文档|文中|段落)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9.-]*[A-Za-z])(?=[A-Za-z0-9.-]*[0-9])[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9]"
)
FLOOR_LOGPROB = -14.0  # of a marker that is not among the alternatives reported


@dataclass(frozen=True)
class Signals:
    """What the decision looks at. Shares are from 0 to 1.

    `refuse_logit`: log-odds that the model's first token opens the refusal marker; `answer_logprob`: mean
    log-probability of the tokens written; `supported`: share of sentences that hold; `coverage`: best share of the
    question's terms in a cited passage, or in any where none is cited; `dense`: best cosine; `names_missing`: share of
    the question's names and identifiers that no passage read has.
    """

    refuse_logit: float
    answer_logprob: float
    supported: float
    coverage: float
    dense: float
    said_not_found: bool
    names_missing: float

    def as_dict(self) -> dict[str, float]:
        """For the receipt."""
        return {name: float(value) for name, value in asdict(self).items()}

    @classmethod
    def of(cls, kept: Mapping[str, float]) -> "Signals":
        """As a receipt kept them."""
        return cls(**{**kept, "said_not_found": bool(kept["said_not_found"])})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Decision:
    """To refuse or not: `probability` that the passages lack the answer, `threshold` from which on Folio refuses."""

    signals: Signals
    probability: float
    threshold: float
    refused: bool


@dataclass(frozen=True)
class Weights:
    """Of the logistic regression; a higher sum means: refuse."""

    bias: float = 7.4
    refuse_logit: float = 0.12
    answer_logprob: float = 0.24
    supported: float = -0.9
    coverage: float = -6.9
    dense: float = -3.8
    said_not_found: float = 1.2
    names_missing: float = 2.0


def refusal_probability(signals: Signals, weights: Weights = Weights()) -> float:
    """How likely it is that the passages do not hold the answer, 0 to 1."""
    total = (
        weights.bias
        + weights.refuse_logit * signals.refuse_logit
        + weights.answer_logprob * signals.answer_logprob
        + weights.supported * signals.supported
        + weights.coverage * signals.coverage
        + weights.dense * signals.dense
        + weights.said_not_found * signals.said_not_found
        + weights.names_missing * signals.names_missing
    )
    return 1 / (1 + math.exp(-total))


def read_signals(
    question: str,
    numbered: Sequence[NumberedPassage],
    logprobs: Sequence[TokenLogprob],
    verdicts: Sequence[Verdict],
    raw: str,
) -> Signals:
    """Gather the signals when the model has finished.

    Args:
        question: as it was searched for, whole.
        numbered: the passages that the model was shown.
        verdicts: on each sentence; their evidence tells which passages are cited.
    """
    written = [entry.logprob for entry in logprobs]
    used = {evidence.n for verdict in verdicts for evidence in verdict.evidence}
    shown = [item.passage for item in numbered]
    cited = [item.passage for item in numbered if item.n in used]
    return Signals(
        refuse_logit=refuse_logit(logprobs[0]) if logprobs else FLOOR_LOGPROB,
        answer_logprob=sum(written) / len(written) if written else 0.0,
        supported=sum(v.supported for v in verdicts) / len(verdicts) if verdicts else 0.0,
        coverage=max((coverage(question, p) for p in cited or shown), default=0.0),
        dense=max((p.scores.dense_score or 0.0 for p in shown), default=0.0),
        said_not_found=says_not_found(raw),
        names_missing=names_missing(question, shown),
    )


def coverage(question: str, passage: Passage) -> float:
    """Share (0 to 1) of the question's telling terms that a passage has, in the passage's own language.

    Each term counts the same, unlike in the search: how rare a word is depends on what else the collection holds, and
    a threshold should mean the same in every collection.
    """
    asked = set(question_terms(question, passage.language))
    held = terms("\n".join((passage.title, *passage.heading_path, passage.text)), passage.language)
    return len(asked.intersection(held)) / len(asked) if asked else 0.0


def names_missing(question: str, passages: Sequence[Passage]) -> float:
    """Share of the question's names and identifiers that stand in none of the passages, their titles included."""
    folded = facts.fold(question)
    asked = facts.names(folded) | {code.lower() for code in _CODE.findall(folded)}
    read = facts.fold(" ".join(" ".join((p.title, *p.heading_path, p.text)) for p in passages)).lower()
    return sum(name not in read for name in asked) / len(asked) if asked else 0.0


def refuse_logit(first: TokenLogprob) -> float:
    """Log-odds that the reply opens with the marker, from the alternatives of its first token."""
    share = sum(math.exp(a.logprob) for a in first.alternatives if _opens_marker(a.token))
    share = min(max(share, math.exp(FLOOR_LOGPROB)), 1 - 1e-6)
    return math.log(share / (1 - share))


def says_not_found(raw: str) -> bool:
    """Whether the model refused in the agreed way."""
    return NOT_FOUND in raw.upper().replace(" ", "_") or bool(_SAID_SO.search(raw))


def may_become_marker(raw: str) -> bool:
    """Whether what the model wrote so far may still turn out to be the marker; such text is not sent."""
    said = raw.strip().upper().replace(" ", "_")
    return NOT_FOUND.startswith(said) or said.startswith(NOT_FOUND)


def _opens_marker(token: str) -> bool:
    piece = token.strip()
    return len(piece) >= 2 and NOT_FOUND.startswith(piece)
