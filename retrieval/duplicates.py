"""Recognises a passage that says again what another said, so that copies of a text do not fill the context.

Compared are the words, by the share of runs of three that two passages have in common (Broder's resemblance). Vectors
would not do: the passages on error E-4012 and on error E-4013 are nearly the same to them. Hence also: passages with
different numbers or codes are never duplicates.
"""

import re
import unicodedata
from dataclasses import dataclass

RUN = 3  # words, or characters of Chinese, Japanese and Korean
RESEMBLANCE = 0.9  # of the runs of both together that two passages must share
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


@dataclass(frozen=True)
class Wording:
    """What of a text is compared. `codes` are its words with a digit."""

    runs: frozenset[tuple[str, ...]]
    codes: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "Wording":
        """Case, width, punctuation and white space aside."""
        words = WORD.findall(unicodedata.normalize("NFKC", text).casefold())
        runs = {tuple(words[at : at + RUN]) for at in range(max(len(words) - RUN + 1, 1))}
        return cls(frozenset(runs), frozenset(word for word in words if re.search(r"\d", word)))

    def repeats(self, other: "Wording") -> bool:
        """Whether two texts say the same in all but the same words."""
        shared = len(self.runs & other.runs)
        return self.codes == other.codes and shared >= RESEMBLANCE * (len(self.runs) + len(other.runs) - shared)
