"""The language of a short text, as far as its script tells."""

import re

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u3400-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
)


def query_language(text: str) -> str:
    """ISO 639-1 code by script; `en` for Latin letters."""
    return next((language for language, script in _SCRIPTS if script.search(text)), "en")
