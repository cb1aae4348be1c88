"""Which encoding of several bytes a character a text is in that does not say so: told for sure, or not at all.

After Li and Momoi, "A composite approach to language/encoding detection" (2001): the coding scheme excludes, and the
distribution of characters decides. The standards themselves give the distribution: GB 2312, Big5, JIS X 0208 and
KS X 1001 put the characters in daily use into a first level of their own, and text in the right encoding hardly leaves
it, while bytes read wrongly scatter over the whole plane.
"""

import codecs
import re
from dataclasses import dataclass
from functools import cache

MIN_COMMON = 0.9  # share of the wide characters that are in daily use, in a text read rightly
DECLARED_COMMON = 0.7  # the same where the file itself names the encoding
MAY_BE_WIDE = 0.5  # share from which a text may be Chinese, Japanese or Korean, and is no Latin or Cyrillic one
MIN_EVIDENCE = 6  # wide characters by which the best reading must be better than the next
MIN_WIDE = 4  # wide characters without which nothing is to be told
MAX_SPACED = 0.05  # of a Chinese text's wide characters, those with a blank between: it writes none between words
MIN_KANA = 0.15  # share of a Japanese text's wide characters
MAX_KANA = 0.05  # of a Chinese text's
KANA = re.compile("[\u3041-\u30fc]")
SPACED_HAN = re.compile("[\u4e00-\u9fff] (?=[\u4e00-\u9fff])")
PUNCTUATION = frozenset("　、。，．・：；？！“”‘’（）「」『』《》〈〉【】—…～〜·–-／％°－＋０１２３４５６７８９")
PLAIN = frozenset(map(chr, [9, 10, 13, *range(32, 127), *range(0xA0, 0xC0)]))
FIRST_INDIC = "\u0900"  # alphabets from Latin to Arabic stand before it
WIDE = re.compile("[^\u0000-\u024f]")


def _rows(encoding: str, first: int, last: int) -> frozenset[str]:
    """The characters whose lead byte lies between two bytes, of the trails that the encoding's plane has."""
    trails = [*range(0x40, 0x7F), *range(0x80, 0xFD), 0xFD, 0xFE]
    pairs = (bytes((lead, trail)) for lead in range(first, last + 1) for trail in trails)
    found = (pair.decode(encoding, "ignore") for pair in pairs)
    return frozenset(char for char in found if len(char) == 1)


@cache
def _common(language: str) -> frozenset[str]:
    """The characters in daily use, by the first level of the national standard."""
    kana = frozenset(map(chr, range(0x3041, 0x30FD)))
    return {
        "zh": lambda: _rows("gb2312", 0xB0, 0xD7) | PUNCTUATION,
        "zh-hant": lambda: _rows("big5", 0xA4, 0xC6) | PUNCTUATION,
        "ja": lambda: _rows("euc_jp", 0xB0, 0xCF) | kana | PUNCTUATION,
        "ko": lambda: _rows("euc_kr", 0xB0, 0xC8) | PUNCTUATION,
    }[language]()


@dataclass(frozen=True)
class Reading:
    """Bytes read in one encoding: the text, how many of its characters are wide, and how many of those are common."""

    encoding: str
    text: str
    wide: int
    common: int

    @property
    def share(self) -> float:
        return self.common / max(1, self.wide)


# The codecs of each language's encoding, the strict one before the one with a vendor's additions.
CANDIDATES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("zh", ("gb18030",)),
    ("zh-hant", ("big5", "cp950", "big5hkscs")),
    ("ja", ("shift_jis", "cp932")),
    ("ja", ("euc_jp",)),
    ("ko", ("euc_kr", "cp949")),
)
GB_NAMES = ("gb2312", "gbk", "gb18030")
UTF_16_32 = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")


def wide_reading(data: bytes) -> str | None:
    """The text of `data` where it is surely Chinese, Japanese or Korean in an encoding of two bytes a character."""
    readings = [reading for language, names in CANDIDATES if (reading := _read(data, language, names))]
    return _decided(readings)


def unmarked_utf(data: bytes) -> str | None:
    """The text of `data` where it is surely UTF-16 or UTF-32 without a byte order mark."""
    readings = []
    for name in UTF_16_32:
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        plain = sum(char in PLAIN or (char.isalpha() and char < FIRST_INDIC) for char in text)
        best = max(sum(char in _common(language) for char in text) for language in ("zh", "zh-hant", "ja", "ko"))
        readings.append(Reading(name, text, len(text), plain + best))
    return _decided(readings)


def fits_declaration(data: bytes, declared: str) -> str | None:
    """The text of `data` in the encoding it declares, where that is one of two bytes a character and looks right."""
    name = _codec(declared)
    for language, names in CANDIDATES:
        if name in {_codec(known) for known in names} or (name in GB_NAMES and language == "zh"):
            reading = _read(data, language, names)
            if reading and reading.share >= DECLARED_COMMON:
                return reading.text
    return None


def is_wide(declared: str) -> bool:
    """Whether a declared encoding is one of two bytes a character."""
    name = _codec(declared)
    return name in GB_NAMES or any(name == _codec(known) for _, names in CANDIDATES for known in names)


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


def _read(data: bytes, language: str, names: tuple[str, ...]) -> Reading | None:
    for name in names:
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        wide = WIDE.findall(text)
        if not _of_language(name, language, text, wide):
            return Reading(name, text, len(wide), 0)
        return Reading(name, text, len(wide), sum(char in _common(language) for char in wide))
    return None


def _of_language(name: str, language: str, text: str, wide: list[str]) -> bool:
    """Whether scripts and blanks are as the language has them; asked where two languages share a coding scheme."""
    kana = sum(bool(KANA.match(char)) for char in wide) / max(1, len(wide))
    if name == "euc_jp":
        return kana >= MIN_KANA
    if language.startswith("zh"):
        return kana <= MAX_KANA and len(SPACED_HAN.findall(text)) <= MAX_SPACED * len(wide)
    return True


def looks_wide(data: bytes) -> bool:
    """Whether `data` may well be in an encoding of two bytes a character, even if it can't be told in which."""
    readings = [reading for language, names in CANDIDATES if (reading := _read(data, language, names))]
    return any(reading.wide >= MIN_WIDE and reading.share >= MAY_BE_WIDE for reading in readings)


def _decided(readings: list[Reading]) -> str | None:
    """The text of the reading that stands out; None when none is good, or two are."""
    ranked = sorted(readings, key=lambda reading: reading.share, reverse=True)
    if not ranked or ranked[0].wide < MIN_WIDE or ranked[0].share < MIN_COMMON:
        return None
    best = ranked[0]
    for other in ranked[1:]:
        if other.text != best.text and (best.share - other.share) * other.wide < MIN_EVIDENCE:
            return None
    return best.text
