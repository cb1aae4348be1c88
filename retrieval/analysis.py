"""Text to index terms, the same way for documents and for questions.

Full-width forms are folded (NFKC), case and accents too, traditional Chinese becomes simplified, European words are
stemmed by the document's language, and runs of Chinese, Japanese and Korean become their characters and overlapping
pairs of them (measured better than pairs alone, words of a segmenter, or triples).
Codes such as `E-4012`, `foo_bar` and `v1.2.3` are kept whole beside their parts.
"""

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator

import tantivy
from opencc import OpenCC

from retrieval.question_words import QUESTION_WORDS

STEMMERS = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
STOP_WORDS = frozenset({"da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv"})
DEFAULT_LANGUAGE = "en"
LONGEST_TERM = 80  # characters; longer runs are base64 and the like, which nobody asks for

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
_RUN = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+(?:[-./+#'’][^\W{_CJK}]+)*|[$€£%]")
_PART = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")


def stemming_language(language: str) -> str:
    """The language whose stemmer serves a text: its own if there is one, else English (for words among CJK text)."""
    code = language.split("-", maxsplit=1)[0].lower()
    return code if code in STEMMERS else DEFAULT_LANGUAGE


@functools.lru_cache(maxsize=1024)
def passage_terms(text: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """`terms` of a passage; kept, as feedback and coverage look at the same passages one after the other."""
    return tuple(terms(text, language))


def terms(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """The index terms of a text, in order, repeats kept."""
    words = " ".join(_words(_fold(text)))
    found: list[str] = _analyzer(stemming_language(language)).analyze(words)
    return found


def question_terms(question: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """The terms that a question is searched by: without the words that only ask, unless nothing else is left."""
    found = terms(question, language)
    telling = [term for term in found if term not in _asking(stemming_language(language))]
    return telling or found


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).lower()
    return _simplifier().convert(folded) if _HAN.search(folded) else folded


def _words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text):
        if is_cjk(run[0]):
            yield from _characters_and_pairs(run)
        elif run.isalnum():
            yield run
        else:
            yield from _identifier(run)


def _characters_and_pairs(run: str) -> Iterator[str]:
    yield from run
    for first, second in itertools.pairwise(run):
        yield first + second


def _identifier(run: str) -> Iterator[str]:
    """A code, whole (its hyphens hidden from the stemmer) and in parts; `don't` and `world's` only in parts."""
    if "'" not in run and "’" not in run:
        yield run
    yield from (part for part in _PART.findall(run) if len(part) > 1 or part.isdigit())


@functools.lru_cache(maxsize=1 << 16)
def is_cjk(character: str) -> bool:
    """Whether a character is Chinese, Japanese or Korean."""
    return re.match(f"[{_CJK}]", character) is not None


@functools.cache
def _asking(language: str) -> frozenset[str]:
    cjk = (QUESTION_WORDS[code] for code in ("zh", "ja", "ko"))
    words = " ".join((QUESTION_WORDS.get(language, ""), *cjk))
    whole = frozenset(word for word in words.split() if is_cjk(word[0]))
    return frozenset(term for term in terms(words, language) if not is_cjk(term[0])) | whole


@functools.cache
def _simplifier() -> OpenCC:
    return OpenCC("t2s")


@functools.cache
def _analyzer(language: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(
        tantivy.Filter.remove_long(LONGEST_TERM)
    )
    if language in STOP_WORDS:
        builder = builder.filter(tantivy.Filter.stopword(STEMMERS[language]))
    return builder.filter(tantivy.Filter.stemmer(STEMMERS[language])).filter(tantivy.Filter.ascii_fold()).build()
