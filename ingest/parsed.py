"""What a parser gives: the canonical text of a file, its pages and its title."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

PAGE_SEPARATOR = "\n\n"


@dataclass(frozen=True)
class Parsed:
    """The text of a file.

    `pages` holds `[start, end)` of each page in characters of `text`, in order, or nothing for a file without pages.
    `has_headings` says that lines beginning with `#` are headings (Markdown).
    """

    text: str
    title: str = ""
    pages: tuple[tuple[int, int], ...] = ()
    has_headings: bool = False
    meta: dict[str, str] = field(default_factory=dict)


class Parser(Protocol):
    """Reads one kind of file.

    Raises:
        IngestError: with the reason code that fits.
    """

    def __call__(self, path: Path, filename: str) -> Parsed: ...


def join_pages(pages: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The pages as one text, and where each begins and ends in it."""
    spans: list[tuple[int, int]] = []
    position = 0
    for page in pages:
        spans.append((position, position + len(page)))
        position += len(page) + len(PAGE_SEPARATOR)
    return PAGE_SEPARATOR.join(pages), tuple(spans)
