"""What decides between answering and refusing: evidence of the passages read, those cited first."""

from dataclasses import replace

from generation.refusal import Signals, coverage, read_signals, refusal_probability
from generation.support import SupportChecker

TEXT = "Immunodeficiency occurs when the immune system is less active than normal; it causes recurring infections."


def test_coverage_is_the_share_of_the_telling_terms_in_the_passages_own_language(passage) -> None:
    immune = replace(passage(TEXT).passage, language="en")
    assert coverage("What does immunodeficiency cause?", immune) == 1.0
    assert coverage("What does the weather cause?", immune) == 0.5
    chinese = replace(passage("免疫缺陷会导致反复感染。").passage, language="zh")
    assert coverage("免疫缺陷会导致什么？", chinese) > 0.8
    assert coverage("谁建了这座桥？", chinese) < 0.2


def test_a_cited_passage_is_read_before_the_others(passage) -> None:
    """Another passage may hold the question's words without holding the answer."""
    question = "When did the red bridge of Sall open?"
    numbered = (passage("The bridge opened in 1932.", n=1), passage("The red bridge of Sall is old.", n=2))
    verdict = SupportChecker(question, numbered).check("It opened in 1932.", [1])
    assert {e.n for e in verdict.evidence} == {1}
    read = read_signals(question, numbered, [], [verdict], "It opened in 1932 [1].")
    assert read.coverage == coverage(question, numbered[0].passage) < coverage(question, numbered[1].passage)
    assert read.supported == 1.0


def test_the_weaker_the_evidence_the_likelier_the_refusal() -> None:
    strong = Signals(-14, -0.1, 1, 0.9, 0.6, said_not_found=False, names_missing=0)
    for weaker in (
        replace(strong, coverage=0.3), replace(strong, dense=0.1), replace(strong, supported=0.0),
        replace(strong, refuse_logit=0.0), replace(strong, names_missing=1.0), replace(strong, said_not_found=True),
    ):  # fmt: skip
        assert refusal_probability(weaker) > refusal_probability(strong)
    assert refusal_probability(strong) < 0.5 < refusal_probability(replace(strong, coverage=0.2, dense=0.1))
