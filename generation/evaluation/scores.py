"""How well a text matches expected answers: SQuAD's exact match and F1, CMRC 2018's, and containment.

SQuAD 1.1: lower case, no punctuation, no English articles, words as tokens (characters for Chinese); F1 of the bags of
tokens. CMRC 2018: characters, no punctuation; F1 of the longest common substring. Best over the expected answers.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+")
_MARK = re.compile(r"\s*\[\d+\]")


def without_marks(text: str) -> str:
    """An answer without its citation marks."""
    return _MARK.sub("", text)


def normalise(text: str) -> str:
    """Lower case, no punctuation or symbols, no English articles, single blanks."""
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = "".join(" " if unicodedata.category(c)[0] in "PS" and c not in "%$€£" else c for c in folded)
    return " ".join(_ARTICLES.sub(" ", kept).split())


def contains(text: str, answers: Sequence[str]) -> float:
    """1 if an expected answer stands in the text after normalising, blanks aside."""
    squeezed = normalise(text).replace(" ", "")
    return float(any(answer and normalise(answer).replace(" ", "") in squeezed for answer in answers))


def exact_match(text: str, answers: Sequence[str]) -> float:
    """1 if the text is an expected answer."""
    return _best(lambda answer: float(_tokens(text) == _tokens(answer)), answers)


def f1(text: str, answers: Sequence[str]) -> float:
    """SQuAD's F1 of the bags of tokens."""
    return _best(lambda answer: _bag_f1(_tokens(text), _tokens(answer)), answers)


def cmrc_f1(text: str, answers: Sequence[str]) -> float:
    """CMRC's F1 of the longest common substring, in characters."""
    return _best(lambda answer: _substring_f1("".join(_tokens(text)), "".join(_tokens(answer))), answers)


def _best(score: Callable[[str], float], answers: Sequence[str]) -> float:
    return max(map(score, answers), default=0.0)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(normalise(text))


def _bag_f1(predicted: list[str], expected: list[str]) -> float:
    shared = sum((Counter(predicted) & Counter(expected)).values())
    return 2 * shared / (len(predicted) + len(expected)) if shared else 0.0


def _substring_f1(predicted: str, expected: str) -> float:
    matcher = SequenceMatcher(None, predicted, expected, autojunk=False)
    size = matcher.find_longest_match().size
    return 2 * size / (len(predicted) + len(expected)) if size else 0.0
