"""Lines that run from right to left, in reading order, told from where their characters stand on the page.

PDFium guesses that order from the order of drawing. In lines of both directions it turns the words of the other script
around, loses the space between the scripts and mistakes one bracket for the other; words with a replacement text, as
browsers write Arabic, come out backwards.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pypdfium2
import pypdfium2.raw as pdfium_c

RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
WORD_GAP = 0.2  # of the height of a line: what is further apart are two words
SPACE_GAP = 0.1  # the same, where PDFium says that there is a space
SAME_ANGLE = 0.05  # radians
BRACKETS = {bracket: pair for pair in ("()", "[]", "{}", "«»") for bracket in pair}

# Kinds of what stands on a line: L and R letters, N digits, E signs of numbers (%, $), C separators in numbers,
# S spaces, O others; and what of them is read from left to right although the line is not, and the other way round.
KINDS = {"L": "L", "R": "R", "AL": "R", "EN": "N", "AN": "N", "ET": "E", "ES": "C", "CS": "C"}
NUMBER = "E*N(?:C?N)*E*"
LEFT_RUN = re.compile(rf"(?:{NUMBER})?L(?:[LNECOS]*[LN]E*)?|{NUMBER}")
RIGHT_RUN = re.compile("R(?:[^L]*R)?")

Character = tuple[str, int]  # and its index in PDFium's page, -1 for a space that is only seen as a gap


@dataclass
class Glyph:
    """What is drawn as one: a letter with its marks, or a ligature. `start` and `end` lie along the line, in points."""

    characters: list[Character]
    start: float
    end: float
    bottom: float
    top: float
    angle: float

    @property
    def bidirectional(self) -> str:
        """Its class in Unicode's bidirectional algorithm."""
        return unicodedata.bidirectional(self.characters[0][0])

    @property
    def kind(self) -> str:
        """Its letter in `KINDS`."""
        return KINDS.get(self.bidirectional, "O")

    @property
    def middle(self) -> float:
        """Where it stands along the line, in points."""
        return (self.start + self.end) / 2


Item = Glyph | None  # None is a space


def page_characters(text_page: pypdfium2.PdfTextPage) -> list[Character]:
    """All characters of a page in reading order, each with its index in PDFium's page."""
    text: str = text_page.get_text_range()
    if not RIGHT_TO_LEFT.search(text) or len(text) != text_page.count_chars():
        return list(zip(text, range(len(text)), strict=True))
    letters = [character for character in text if unicodedata.bidirectional(character) in ("L", "R", "AL")]
    is_page_from_right = 2 * sum(bool(RIGHT_TO_LEFT.match(letter)) for letter in letters) > len(letters)
    ordered: list[Character] = []
    for match in re.finditer(r"[^\r\n]+|[\r\n]", text):
        line = list(zip(match[0], range(match.start(), match.end()), strict=True))
        ordered.extend(_reordered(text_page, line, is_page_from_right) if RIGHT_TO_LEFT.search(match[0]) else line)
    return ordered


def _reordered(text_page: pypdfium2.PdfTextPage, line: list[Character], is_page_from_right: bool) -> list[Character]:
    line = _ligatures_in_order(text_page, line)
    glyphs, is_spaced = _glyphs(text_page, line)
    if not glyphs or not _is_one_row(glyphs):
        return line
    spaces = [_glyph(text_page, character, index) for character, index in line if character.isspace()]
    glyphs.sort(key=lambda glyph: glyph.middle)
    items = list(_spaced(glyphs, spaces, is_spaced))
    is_from_right = _is_from_right([glyph.kind for glyph in glyphs if glyph.kind in "LR"], is_page_from_right)
    ordered = _with_brackets(_from_right(items) if is_from_right else _from_left(items))
    return [character for item in ordered for character in (item.characters if item else [(" ", -1)])]


def _is_from_right(letters: list[str], is_page_from_right: bool) -> bool:
    """Whether a line with these kinds of letters is read from the right: both its ends say so, else the page does."""
    rights, lefts = letters.count("R"), letters.count("L")
    if letters and letters[0] == letters[-1] and (letters[0] == "R" or lefts > rights):
        return letters[0] == "R"
    return is_page_from_right or rights > lefts


def _ligatures_in_order(text_page: pypdfium2.PdfTextPage, line: list[Character]) -> list[Character]:
    """The line with the letters of lam-alef ligatures swapped, which PDFium gives the wrong way round.

    Both have the box of the one glyph; that tells them from the many places where alef really comes before lam.
    """
    line = list(line)
    for at in range(len(line) - 1):
        (first, index), (second, following) = line[at], line[at + 1]
        if ALEF_LAM.fullmatch(first + second) and text_page.get_charbox(index) == text_page.get_charbox(following):
            line[at], line[at + 1] = line[at + 1], line[at]
    return line


def _glyphs(
    text_page: pypdfium2.PdfTextPage, line: Sequence[Character]
) -> tuple[list[Glyph], dict[tuple[int, int], bool]]:
    """The glyphs of a line; and of those that PDFium gives one after the other, by their ids, whether there is a space
    between them.
    """
    glyphs: list[Glyph] = []
    marks: list[Glyph] = []
    is_spaced: dict[tuple[int, int], bool] = {}
    space: bool | None = False
    box = None
    for character, index in line:
        if character.isspace():
            space = True
            continue
        previous, box = box, text_page.get_charbox(index)
        if glyphs and box == previous and not space:
            glyphs[-1].characters.append((character, index))
            continue
        glyph = _glyph(text_page, character, index)
        if unicodedata.bidirectional(character) == "NSM":
            marks.append(glyph)
            space = None if space else False  # PDFium takes the way to a mark for a gap
            continue
        if glyphs and space is not None:
            is_spaced[id(glyphs[-1]), id(glyph)] = is_spaced[id(glyph), id(glyphs[-1])] = space
        space = False
        glyphs.append(glyph)
    for mark in marks:
        if glyphs:
            distances = [abs(glyph.middle - mark.middle) for glyph in glyphs]
            glyphs[distances.index(min(distances))].characters.extend(mark.characters)
    return glyphs, is_spaced


def _glyph(text_page: pypdfium2.PdfTextPage, character: str, index: int) -> Glyph:
    left, bottom, right, top = text_page.get_charbox(index, loose=True)
    angle = pdfium_c.FPDFText_GetCharAngle(text_page, index)
    along, across = (math.cos(angle), -math.sin(angle)), (math.sin(angle), math.cos(angle))
    spans = []
    for x, y in (along, across):
        middle, half = (left + right) * x + (bottom + top) * y, abs((right - left) * x) + abs((top - bottom) * y)
        spans.append(((middle - half) / 2, (middle + half) / 2))
    return Glyph([(character, index)], *spans[0], *spans[1], angle)


def _is_one_row(glyphs: Sequence[Glyph]) -> bool:
    bottom, top = glyphs[0].bottom, glyphs[0].top
    for glyph in glyphs:
        if glyph.bottom > top or glyph.top < bottom or abs(glyph.angle - glyphs[0].angle) > SAME_ANGLE:
            return False
        bottom, top = min(bottom, glyph.bottom), max(top, glyph.top)
    return True


def _spaced(glyphs: Sequence[Glyph], spaces: Sequence[Glyph], is_spaced: dict[tuple[int, int], bool]) -> Iterator[Item]:
    """Glyphs that stand in this order from left to right, and the spaces between them.

    Drawn spaces count where they stand. Those that PDFium makes up, or takes from a replacement text, have no width;
    of them, and of glyphs that it did not give one after the other, the gap tells.
    """
    height = max(glyph.top - glyph.bottom for glyph in glyphs)
    drawn = [space.middle for space in spaces if space.end > space.start]
    yield glyphs[0]
    for left, right in pairwise(glyphs):
        gap = SPACE_GAP if (id(left), id(right)) in is_spaced else WORD_GAP
        is_next = is_spaced.get((id(left), id(right)), True)
        is_drawn = any(left.end <= at <= right.start for at in drawn)
        if is_drawn or (is_next and right.start - left.end > gap * height):
            yield None
        yield right


def _kinds(items: Sequence[Item]) -> str:
    """The kinds of the items; beside Arabic letters hyphens and signs do not hold numbers together."""
    kinds = "".join(item.kind if item else "S" for item in items)
    is_arabic = any(item and item.bidirectional == "AL" for item in items)
    loose = {at for at, item in enumerate(items) if is_arabic and item and item.bidirectional in ("ES", "ET")}
    return "".join("O" if at in loose else kind for at, kind in enumerate(kinds))


def _from_left(items: list[Item]) -> list[Item]:
    """What stands in this order from left to right, in reading order, for a reader from left to right."""
    ordered, done = [], 0
    for run in RIGHT_RUN.finditer(_kinds(items)):
        ordered += [*items[done : run.start()], *_from_right(items[run.start() : run.end()])]
        done = run.end()
    return ordered + items[done:]


def _from_right(items: list[Item]) -> list[Item]:
    """What stands in this order from left to right, in reading order, for a reader from right to left."""
    parts: list[list[Item]] = []
    done = 0
    for run in LEFT_RUN.finditer(_kinds(items)):
        end = run.end()
        if _leaves_open(items[run.start() : end]) and end < len(items) and _text(items[end]) in BRACKETS:
            end += 1
        parts += [*([item] for item in items[done : run.start()]), items[run.start() : end]]
        done = max(done, end)
    parts += [[item] for item in items[done:]]
    return [item for part in reversed(parts) for item in part]


def _with_brackets(items: list[Item]) -> list[Item]:
    """The items with each bracket opening or closing, as the spaces around it say; else they take turns."""
    is_open = False
    for item, before, after in zip(items, [None, *items], [*items[1:], None], strict=False):
        pair = BRACKETS.get(_text(item))
        if item and pair:
            starts, ends = before is None, after is None
            is_open = starts if starts != ends else not is_open
            item.characters[0] = (pair[0] if is_open else pair[1], item.characters[0][1])
    return items


def _leaves_open(run: Sequence[Item]) -> bool:
    texts = [_text(item) for item in run]
    return any(texts.count(pair[0]) > texts.count(pair[1]) for pair in BRACKETS.values())


def _text(item: Item) -> str:
    return item.characters[0][0] if item else " "
