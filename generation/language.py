"""The language of a question: by its script, and for Latin letters by the commonest words of each language."""

import re

from retrieval.language import query_language

_WORDS = {
    "en": "the of is are was were what which who whom when where why how does did do has have in to for with from by",
    "de": "der die das und ist sind war wie was wer wann wo warum welche welcher nicht ein eine im den dem von für mit",
    "fr": "le la les des est sont qui que quoi quel quelle quand où pourquoi comment dans une un du et pour avec sur",
    "es": "el la los las es son qué quién cuál cuándo dónde por cómo del una un en y para con cuántos",
}
_SETS = {language: frozenset(words.split()) for language, words in _WORDS.items()}


def question_language(text: str) -> str:
    """ISO 639-1 code; `en` where nothing tells."""
    by_script = query_language(text)
    if by_script != "en":
        return by_script
    words = re.findall(r"[^\W\d_]+", text.lower())
    scores = {language: sum(word in known for word in words) for language, known in _SETS.items()}
    return max(scores, key=lambda language: (scores[language], language == "en"))
