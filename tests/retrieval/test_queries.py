"""Several queries for one question."""

from retrieval.passages import StageScores
from retrieval.queries import fuse_rankings
from retrieval.ranking import Ranked


def ranking(**scores: float) -> list[Ranked]:
    return [Ranked(int(name[1:]), score, StageScores(fused_score=score)) for name, score in scores.items()]


def test_a_chunk_keeps_the_best_score_it_has_for_any_query():
    fused = fuse_rankings([ranking(c1=9.0, c3=5.0, c4=4.5), ranking(c2=8.0, c3=5.5, c1=1.0)])
    assert [(item.chunk_id, item.score) for item in fused] == [(1, 9.0), (2, 8.0), (3, 5.5), (4, 4.5)]


def test_one_ranking_stays_as_it_is():
    assert fuse_rankings([ranking(c3=3.0, c1=2.0, c2=1.0)]) == ranking(c3=3.0, c1=2.0, c2=1.0)


def test_both_halves_of_a_question_find_their_passage(library, searcher):
    for number in range(12):
        library.put(f"sea{number}.txt", f"Whales breathe air through their blowholes, note {number} on whales.")
    library.put("tea.txt", "Green tea is brewed at eighty degrees.")
    question = "How do whales breathe, and how is green tea brewed?"
    alone = searcher.search("whales breathe blowholes", top_k=3)
    assert "tea.txt" not in {p.uri for p in alone}
    both = searcher.search("whales breathe blowholes", also=["green tea brewed"], top_k=3)
    assert "tea.txt" in {p.uri for p in both}
    assert searcher.search(question, also=[], top_k=3).query == question
