"""Puts recognised pieces of text into reading order: columns one after the other, pieces of one line side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

MIN_COLUMN = 0.25  # share of the page's width that the lines of a text column have; the cells of a table have less
SAME_LINE = 0.5  # share of the lower one's height by which two pieces overlap that stand on one line


@dataclass(frozen=True)
class Piece:
    """A recognised piece of text and its box, in pixels from the top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


def text_of(pieces: Sequence[Piece], page_width: float) -> str:
    """The text of a page, a line a row."""
    lines: list[str] = []
    for block in _blocks(pieces, page_width):
        lines += ["  ".join(piece.text for piece in row) for row in _rows(block)]
    return "\n".join(lines)


def _blocks(pieces: Sequence[Piece], page_width: float) -> list[list[Piece]]:
    """Columns and what stands between them, in reading order.

    Rows that together leave a gutter free make a band of two or more columns; a heading across all of them ends it.
    """
    bands: list[list[Piece]] = []
    for row in _rows(pieces):
        joined = [*bands[-1], *row] if bands else []
        if _gutter(joined, page_width):
            bands[-1] = joined
        else:
            bands.append(row)
    return [block for band in bands for block in _columns(band, page_width)]


def _columns(pieces: list[Piece], page_width: float) -> list[list[Piece]]:
    gutter = _gutter(pieces, page_width)
    if gutter is None:
        return [pieces]
    left = [piece for piece in pieces if piece.right <= gutter]
    return [left, *_columns([piece for piece in pieces if piece.right > gutter], page_width)]


def _gutter(pieces: Sequence[Piece], page_width: float) -> float | None:
    """The first place from the left that no piece crosses, with text columns on both sides."""
    reach = 0.0
    for piece in sorted(pieces, key=lambda piece: piece.left):
        if reach and piece.left > reach:
            sides = ([p for p in pieces if p.right <= reach], [p for p in pieces if p.left > reach])
            if all(median(p.right - p.left for p in side) >= MIN_COLUMN * page_width for side in sides):
                return reach
        reach = max(reach, piece.right)
    return None


def _rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces that stand side by side, top to bottom, each row left to right."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: piece.top + piece.bottom):
        last = rows[-1][-1] if rows else None
        if last is not None:
            overlap = min(last.bottom, piece.bottom) - max(last.top, piece.top)
            if overlap >= SAME_LINE * min(last.bottom - last.top, piece.bottom - piece.top):
                rows[-1].append(piece)
                continue
        rows.append([piece])
    return [sorted(row, key=lambda piece: piece.left) for row in rows]
