"""What a parser gives: the canonical text of a file, its pages and its title."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from folio.errors import IngestError
from ingest import reasons

PAGE_SEPARATOR = "\n\n"
MAX_EMBEDDED_FILES = 2000
MAX_EMBEDDED_BYTES = 512 * 2**20


@dataclass(frozen=True)
class Embedded:
    """A file inside a file: a member of an archive, an attachment. `name` may hold folders.

    One that is damaged within a file that is else in order has no `data`.
    """

    name: str
    data: bytes
    is_damaged: bool = False


@dataclass(frozen=True)
class Parsed:
    """The text of a file.

    `pages` holds `[start, end)` of each page in characters of `text`, in order, or nothing for a file without pages.
    `embedded` holds files inside the file; each becomes a document of its own. `has_headings` says that lines
    beginning with `#` are headings (Markdown). `unread_pages` are the numbers, from 1, of pages that show text which
    the file does not hold as text.
    """

    text: str
    title: str = ""
    pages: tuple[tuple[int, int], ...] = ()
    has_headings: bool = False
    meta: dict[str, str] = field(default_factory=dict)
    embedded: tuple[Embedded, ...] = ()
    unread_pages: tuple[int, ...] = ()


def bounded(files: Iterable[Embedded]) -> tuple[Embedded, ...]:
    """The files inside a file, if they are not too many and not too large together.

    Raises:
        IngestError: `too_large`.
    """
    kept, size = [], 0
    for file in files:
        kept.append(file)
        size += len(file.data)
        if len(kept) > MAX_EMBEDDED_FILES or size > MAX_EMBEDDED_BYTES:
            raise IngestError(
                reasons.TOO_LARGE,
                f"Inside are more than {MAX_EMBEDDED_FILES:,} files or {MAX_EMBEDDED_BYTES // 2**20} MiB. Split it.",
            )
    return tuple(kept)


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
