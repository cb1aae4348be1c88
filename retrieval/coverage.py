"""How much of a question's vocabulary a passage holds, rare terms counting more: evidence for answering or refusing."""

from dataclasses import replace

from retrieval.analysis import passage_terms, terms
from retrieval.lexical import LexicalSnapshot
from retrieval.passages import Passage

# "How many", "how long": the words ask for an amount, and their absence from a passage says nothing.
AMOUNT_WORDS = frozenset(term for word in ("many", "much", "long", "old", "often", "far") for term in terms(word, "en"))
# Added to every term's rarity, so that in a collection of a few passages an absent word does not outweigh all others.
SMOOTHING = 1.0


def with_coverage(passages: tuple[Passage, ...], query: str, lexical: LexicalSnapshot) -> tuple[Passage, ...]:
    """The passages with `scores.term_coverage`: the share (0 to 1) of the question's terms that each holds."""
    asked = [term for term in lexical.query_terms(query) if term not in AMOUNT_WORDS]
    rarity = {term: lexical.rarity(term) + SMOOTHING for term in asked}
    total = sum(rarity.values())
    if not total:
        return passages
    covered = []
    for passage in passages:
        text = "\n".join((passage.title, *passage.heading_path, passage.text))
        held = frozenset(passage_terms(text, passage.language))
        share = sum(weight for term, weight in rarity.items() if term in held) / total
        covered.append(replace(passage, scores=replace(passage.scores, term_coverage=share)))
    return tuple(covered)
