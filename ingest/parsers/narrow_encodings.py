"""Which one-byte encoding bytes are in: Western, Cyrillic, Greek and others, told for sure or not at all.

Western text is known by its letters: those that Windows-1252 alone gives and that stand where Western languages have
them. Other scripts are known by whole words, as charset-normalizer's candidates read them.
"""

import re
import unicodedata

from charset_normalizer import from_bytes

# The one-byte encodings in use.
NARROW = (
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp866", "mac_cyrillic", "iso8859_5", "cp1253", "iso8859_7", "cp1254",
    "cp1255", "cp1256", "cp1257", "iso8859_2", "mac_roman", "cp850", "cp437", "cp874",
)  # fmt: skip
MAX_MARKED = 0.3  # share of a Western text's letters that are not ASCII
WESTERN = frozenset("äöüÄÖÜßàâçèéêëîïôûœæñáíóúåÀÂÇÈÉÊËÎÏÔÛŒÆÑÁÍÓÚÅ€«»“”‘’„‚–—…•°§£®©™¡¿·\xa0ªº")
GERMAN = frozenset("äöüÄÖÜß")  # the same in all Latin encodings of Windows
MIN_CHARS = 80  # of a text with further letters or marks: a shorter one may be of another encoding without a sign of it
MAX_ACCENTED = 0.5  # share of a text's letters; Vietnamese comes near it
# Letters that other encodings' letters look like; in Western languages they stand only so.
ONLY_SO = (("ù", re.compile(r"\boù\b|[a-z]iù\b")), ("õ", re.compile(r"õe")), ("ã", re.compile(r"ã[oe]|ã\b")))
IN_A_WORD = re.compile(r"[^\W\d_][“”„‚…•€«»§£®©°¡¿·–—ªº][^\W\d_]|[^\W\d_][„‚¡¿§]")  # marks that are letters elsewhere
TRIMMED = "".join(map(chr, range(33, 48))) + ":;<=>?@[]{}|~_^`«»“”„‚‘’–—…№§·"
MIN_WORDS = 8
MIN_GOOD = 0.9  # share of words that are of one script and written as words are
MORE_CHAOS = 0.05  # candidates this much more garbled than the best are no rivals
MARGIN = 0.1  # by which a reading must be better than its rivals


def narrow_reading(data: bytes) -> str | None:
    """The text of `data` where it is surely in an encoding of one byte a character."""
    return _western(data) or _by_words(data)


def _western(data: bytes) -> str | None:
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    letters = [char for char in text if char.isalpha()]
    marks = {char for char in text if not char.isascii()} - WESTERN
    known = {letter for letter, place in ONLY_SO if len(place.findall(text)) == text.count(letter)}
    if "å" in text or "Å" in text:
        known |= {"ø", "Ø"}
    is_western = marks <= known and not IN_A_WORD.search(text)
    marked = sum(not char.isascii() for char in letters)
    is_long = len(text) >= MIN_CHARS or GERMAN.issuperset(char for char in text if not char.isascii())
    return text if is_western and is_long and marked <= MAX_MARKED * len(letters) else None


def fits_words(text: str) -> bool:
    """Whether words beyond ASCII are each of one script, and not, as in misread text, mostly of accented letters."""
    words = [word.strip(TRIMMED) for word in text.split()]
    words = [word for word in words if not word.isascii()]
    scripts = [{"LATIN" if char.isascii() else _script(char) for char in word if char.isalpha()} for word in words]
    letters = [char for char in text if char.isalpha()]
    accented = sum(_script(char) == "LATIN" for char in letters if not char.isascii())
    mixed = sum(len(found) > 1 for found in scripts)
    return mixed <= (1 - MIN_GOOD) * len(words) and accented <= MAX_ACCENTED * len(letters)


def _by_words(data: bytes) -> str | None:
    matches = list(from_bytes(data, cp_isolation=list(NARROW)))
    near = [match for match in matches if match.chaos <= matches[0].chaos + MORE_CHAOS]
    scored = sorted(((_good(str(match)) + match.coherence, str(match)) for match in near), reverse=True)
    if not scored:
        return None
    score, text = scored[0]
    is_alone = all(other == text or score - less >= MARGIN for less, other in scored[1:])
    is_text = _good(text) >= MIN_GOOD and len(text.split()) >= MIN_WORDS and "LATIN" not in _scripts(text)
    return text if is_alone and is_text else None


def _good(text: str) -> float:
    words = [word.strip(TRIMMED) for word in text.split()]
    words = [word for word in words if word and not word.isascii()]
    return sum(_is_word(word) for word in words) / max(1, len(words))


def _is_word(word: str) -> bool:
    has_case = word.islower() or word.isupper() or word.istitle() or word.lower() == word.upper()
    parts = re.split(r"[-’'.]", word)
    return has_case and all(part.isalpha() or part.isdigit() for part in parts if part) and len(_scripts(word)) == 1


def _scripts(text: str) -> set[str]:
    """Scripts of the letters beyond ASCII."""
    return {_script(char) for char in text if char.isalpha() and not char.isascii()}


def _script(char: str) -> str:
    return unicodedata.name(char, "?").split(" ", 1)[0]
