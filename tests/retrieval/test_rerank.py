"""Reranking by a cross-encoder made here: tiny, untrained, but whole."""

import numpy as np
import pytest

from folio.errors import ModelMissing
from retrieval.passages import StageScores
from retrieval.ranking import Ranked
from retrieval.rerank import CrossEncoderReranker, rerank
from retrieval.search import Searcher


class ByLength:
    """Prefers short passages."""

    name = "by length"

    def score(self, question, passages):
        return np.asarray([-len(passage) for passage in passages], np.float32)


def ranking(count: int) -> list[Ranked]:
    return [Ranked(n, 10.0 - n, StageScores(fused_score=10.0 - n)) for n in range(count)]


def test_only_the_best_candidates_are_put_in_the_rerankers_order():
    texts = {0: "long passage", 1: "short", 2: "mid one", 3: "x"}
    read = lambda ids: [(i, texts[i], "en") for i in ids]  # noqa: E731
    order = rerank("?", ranking(4), ByLength(), 3, read)
    assert [item.chunk_id for item in order] == [1, 2, 0, 3]
    assert order[0].scores.rerank_score == -5.0
    assert order[0].scores.fused_score == 9.0
    assert order[3].scores.rerank_score is None


def test_a_chunk_gone_meanwhile_keeps_its_place_behind_the_judged():
    order = rerank("?", ranking(2), ByLength(), 2, lambda ids: [(1, "text", "en")])
    assert [item.chunk_id for item in order] == [1, 0]


def test_a_search_shows_the_rerankers_scores_and_keeps_the_fused_ranking_beside(library, settings):
    library.put("long.txt", "Tea is made by pouring water over tea leaves, and then by waiting for four minutes.")
    library.put("short.txt", "Tea is a drink.")
    searcher = Searcher(library.catalog, library.embedder, settings, ByLength())
    try:
        found = searcher.search("How is tea made with water?")
        documents = searcher.rank_documents("How is tea made with water?")
    finally:
        searcher.close()
    assert [p.uri for p in found] == ["short.txt", "long.txt"]
    assert found.passages[0].scores.rerank_score == found.passages[0].score
    assert found.timing.rerank_ms > 0
    assert documents.fused == ["short.txt", "long.txt"]
    assert documents.not_reranked == ["long.txt", "short.txt"]


def test_any_cross_encoder_by_name_scores_pairs(save_cross_encoder):
    reranker = CrossEncoderReranker(str(save_cross_encoder()), device="cpu")
    scores = reranker.score("the tea ?", ["the water", "coffee coffee", "tea"])
    assert scores.shape == (3,)
    assert len(set(scores.tolist())) == 3
    assert reranker.score("the tea ?", ["coffee coffee"]) == pytest.approx(scores[1:2], abs=1e-5)
    assert reranker.score("the tea ?", []).shape == (0,)


def test_a_model_that_is_missing_or_no_reranker_is_a_clear_error(save_cross_encoder, tmp_path):
    with pytest.raises(ModelMissing, match="FOLIO_RERANKER"):
        CrossEncoderReranker(str(tmp_path / "none")).score("?", ["text"])
    with pytest.raises(ModelMissing, match="3 scores"):
        CrossEncoderReranker(str(save_cross_encoder(labels=3)), device="cpu").score("?", ["text"])
