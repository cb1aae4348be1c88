"""Several queries for one question: its parts, other wordings of it, or a guessed answer (HyDE).

Each is searched by itself, and a chunk keeps the best score it has for any of them (CombMAX, Fox and Shaw 1994). Fused
scores are standardised by what the collection scores for each query, so they can be compared. Adding scores or
reciprocal ranks up would not do for parts: what is middling for all of them would pass what one of them needs.
"""

from collections.abc import Sequence

from retrieval.ranking import Ranked


def fuse_rankings(rankings: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """One ranking of several, best first; a chunk keeps the scores of the query that it is best for."""
    best: dict[int, Ranked] = {}
    for ranking in rankings:
        for item in ranking:
            if item.chunk_id not in best or item.score > best[item.chunk_id].score:
                best[item.chunk_id] = item
    return sorted(best.values(), key=lambda item: (-item.score, item.chunk_id))
