"""Where a span of a PDF's canonical text stands on its page, for highlighting."""

from pathlib import Path

import pypdfium2
from pydantic import BaseModel

from ingest.parsers.right_to_left import page_characters

SAME_LINE = 0.5  # two characters whose heights overlap by this share stand on one line


class Box(BaseModel):
    """A rectangle as fractions of the page, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


def span_boxes(path: Path, page: int, before: str, wanted: str) -> list[Box]:
    """One box for each line that `wanted` stands on.

    Args:
        path: the PDF.
        page: its page, counted from 1.
        before: the page's canonical text up to the span; tells which of several equal spans is meant.
        wanted: the span's text. White space is ignored: the canonical text has other line breaks than the page.
    """
    needle, skipped = _dense(wanted), len(_dense(before))
    if not needle:
        return []
    with pypdfium2.PdfDocument(path) as document:
        sheet = document[page - 1]
        width, height = sheet.get_size()
        text_page = sheet.get_textpage()
        characters = [(char, index) for char, index in page_characters(text_page) if _dense(char)]
        haystack = "".join(char for char, _ in characters)
        found = _nearest(haystack, needle, skipped)
        if found < 0:
            return []
        rectangles = [text_page.get_charbox(characters[at][1]) for at in range(found, found + len(needle))]
    return [_box(line, width, height) for line in _lines(rectangles)]


def _dense(text: str) -> str:
    return "".join(char for char in text if not char.isspace() and char not in "\ufffe\u00ad")


def _nearest(haystack: str, needle: str, position: int) -> int:
    """The occurrence of `needle` nearest to `position`, or -1."""
    places = []
    at = haystack.find(needle)
    while at >= 0:
        places.append(at)
        at = haystack.find(needle, at + 1)
    return min(places, key=lambda place: abs(place - position), default=-1)


Rectangle = tuple[float, float, float, float]  # left, bottom, right, top, in points from the lower left corner


def _lines(rectangles: list[Rectangle]) -> list[Rectangle]:
    lines: list[Rectangle] = []
    for left, bottom, right, top in rectangles:
        if lines:
            last = lines[-1]
            overlap = min(top, last[3]) - max(bottom, last[1])
            if overlap > SAME_LINE * min(top - bottom, last[3] - last[1]) and left >= last[0]:
                lines[-1] = (last[0], min(bottom, last[1]), max(right, last[2]), max(top, last[3]))
                continue
        lines.append((left, bottom, right, top))
    return lines


def _box(line: Rectangle, width: float, height: float) -> Box:
    left, bottom, right, top = line
    return Box(x=left / width, y=1 - top / height, width=(right - left) / width, height=(top - bottom) / height)
