"""How far each leg can be trusted in a collection, per language, measured on the collection itself.

Passages are cut in two, and each leg must recognise the second half of a passage from its first among those of other
documents. Neither leg is favoured: the halves share a subject but not a sentence. An embedder that does not know a
language recognises half as often as shared terms do, one that knows it as often; the weights follow from that ratio.
No question and no judgement is needed.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from folio.catalog.models import Chunk, Document
from retrieval.analysis import question_terms, terms
from retrieval.embedder import Embedder
from retrieval.fusion import Weights
from retrieval.lexical import LexicalSnapshot

PAIRS = 64  # a language; enough to tell a leg that knows it from one that does not (ratios near 1.0 and 0.5)
LANGUAGES = 8
SHORTEST_HALF = 20  # characters
DENSE_SHARE = 2.0  # of the lexical share at full trust: independence makes the lexical spread too small by about that
DISTRUST = 2 / 3  # a leg that recognises less than this part of what the other does gets less than half its share
STEEPNESS = 12  # so that ratios of 0.8 and more keep nine tenths of the share, and of 0.5 lose nearly all
PRIOR_PAIRS = 8  # weight of the prior against measured pairs
_PRIOR_RATIO = {"en": 1.0}  # before anything is measured, only English is taken as known to every embedder
_UNKNOWN_RATIO = DISTRUST
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")

Floats = npt.NDArray[np.float32]


class Trust(BaseModel):
    """Mean reciprocal rank at which each leg recognised the other half, over `pairs` passages."""

    pairs: int
    dense: float
    lexical: float

    def ratio(self, prior: float) -> float:
        """Dense over lexical, drawn towards the prior when few pairs were measured."""
        measured = max(self.dense, 0.01) / max(self.lexical, 0.01)
        return float((self.pairs * measured + PRIOR_PAIRS * prior) / (self.pairs + PRIOR_PAIRS))


class Calibration(BaseModel):
    """Measured trust by language (ISO 639-1), when the collection had `chunks` chunks."""

    chunks: int = 0
    languages: dict[str, Trust] = Field(default_factory=dict)

    def weights(self, language: str) -> Weights:
        """The legs' shares for a question in this language."""
        prior = _PRIOR_RATIO.get(language, _UNKNOWN_RATIO)
        trust = self.languages.get(language)
        ratio = trust.ratio(prior) if trust else prior
        dense, lexical = DENSE_SHARE * _trusted(ratio), _trusted(1 / ratio)
        return Weights(dense / (dense + lexical), lexical / (dense + lexical))

    def is_stale(self, chunks: int) -> bool:
        """Whether the collection has doubled or halved since."""
        return not self.chunks / 2 <= chunks <= self.chunks * 2


@dataclass(frozen=True)
class _Pair:
    first: str
    second: str


def calibrate(session: Session, collection_id: str, embedder: Embedder, lexical: LexicalSnapshot) -> Calibration:
    """Measure both legs on the collection's own passages. Embeds up to `2 * PAIRS` half passages a language."""
    in_collection = select(func.count()).where(Chunk.collection_id == collection_id)
    calibration = Calibration(chunks=session.scalar(in_collection) or 0)
    for language, variants in _languages(session, collection_id).items():
        pairs = _sample(session, collection_id, variants)
        if len(pairs) > 1:
            calibration.languages[language] = _measure(pairs, language, embedder, lexical)
    return calibration


def _trusted(ratio: float) -> float:
    return float(1 / (1 + (DISTRUST / ratio) ** STEEPNESS))


def _languages(session: Session, collection_id: str) -> dict[str, list[str]]:
    """The most frequent languages, each with the codes that documents use for it (`zh`: `zh`, `zh-Hant`)."""
    rows = session.execute(
        select(Document.language, func.count())
        .where(Document.collection_id == collection_id)
        .group_by(Document.language)
        .order_by(func.count().desc())
    )
    found: dict[str, list[str]] = {}
    for code, _ in rows:
        found.setdefault(code.partition("-")[0] or "en", []).append(code)
    return dict(list(found.items())[:LANGUAGES])


def _sample(session: Session, collection_id: str, codes: Sequence[str]) -> list[_Pair]:
    """Halves of one passage each of different documents, the same ones each time."""
    one_each = (
        select(func.min(Chunk.id))
        .join(Document, Document.id == Chunk.document_id)
        .where(Chunk.collection_id == collection_id, Document.language.in_(codes))
        .group_by(Chunk.document_id)
    )
    ids = sorted(session.scalars(one_each))
    picked = np.random.default_rng(0).permutation(np.asarray(ids, dtype=np.int64))[: 3 * PAIRS]
    texts = session.scalars(select(Chunk.text).where(Chunk.id.in_(picked.tolist())).order_by(Chunk.id))
    pairs = [pair for pair in map(_halves, texts) if pair is not None]
    return pairs[:PAIRS]


def _halves(text: str) -> _Pair | None:
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence and sentence.strip()]
    lengths = np.cumsum([len(sentence) for sentence in sentences])
    if len(sentences) < 2:
        return None
    cut = int(np.argmin(np.abs(lengths[:-1] - lengths[-1] / 2))) + 1
    pair = _Pair(" ".join(sentences[:cut]), " ".join(sentences[cut:]))
    return pair if min(len(pair.first), len(pair.second)) >= SHORTEST_HALF else None


def _measure(pairs: Sequence[_Pair], language: str, embedder: Embedder, lexical: LexicalSnapshot) -> Trust:
    first = embedder.embed_documents([pair.first for pair in pairs])
    second = embedder.embed_documents([pair.second for pair in pairs])
    shared = _shared_terms(pairs, language, lexical)
    return Trust(pairs=len(pairs), dense=_mean_reciprocal_rank(first @ second.T), lexical=_mean_reciprocal_rank(shared))


def _shared_terms(pairs: Sequence[_Pair], language: str, lexical: LexicalSnapshot) -> Floats:
    """The rarity of the terms that each first half shares with each second half, by BM25's term frequency."""
    halves = [Counter(terms(pair.second, language)) for pair in pairs]
    lengths = np.asarray([half.total() for half in halves])
    saturation = 1.2 * (0.25 + 0.75 * lengths / max(lengths.mean(), 1))
    scores = np.zeros((len(pairs), len(pairs)), dtype=np.float32)
    for row, pair in enumerate(pairs):
        for term in set(question_terms(pair.first, language)):
            counts = np.asarray([half[term] for half in halves])
            scores[row] += lexical.rarity(term) * counts * 2.2 / (counts + saturation)
    return scores


def _mean_reciprocal_rank(scores: Floats) -> float:
    """Rows ask, columns answer, the diagonal is right; ties count against the leg."""
    ranks = (scores >= np.diag(scores)[:, None]).sum(axis=1)
    return float(np.mean(1 / ranks))
