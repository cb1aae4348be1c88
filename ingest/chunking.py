"""Splits a document's text into chunks with exact offsets.

Structure first: headings (Markdown) and pages bound sections; inside a section, langchain's recursive splitter cuts at
paragraphs, lines, sentence and clause ends of European and East Asian languages, measured in the embedder's own
tokens, so that nothing the embedder would cut off is ever in a chunk. Small neighbouring sections are merged. A table
is cut only between rows; the header row of a table that was cut goes into the heading path of its later chunks.
"""

import functools
import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from langchain_text_splitters import RecursiveCharacterTextSplitter

from ingest.parsed import Parsed
from retrieval.embedder import Embedder

ENDS, CLOSING = "。！？!?；;…", r"”’」』）》】〕)\]"
# A sentence ends after its marks and the quotes and brackets that close after them.
SENTENCE_END = (
    rf"(?:(?<=[{ENDS}])|(?<=[{ENDS}][{CLOSING}])|(?<=[{ENDS}][{CLOSING}][{CLOSING}]))(?![{ENDS}{CLOSING}，、：,:.])"
)
CLAUSE_END = rf"(?<=[，、：,;:])(?!(?<=\d[,:])\d)(?![{CLOSING}])\s*"  # but not inside 1,000 or 21:00
SEPARATORS = [r"\n\n+", r"\n", SENTENCE_END, r"(?<=[.!?]) +", CLAUSE_END, r" +", r""]
HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
TABLE_HEADER = re.compile(r"^(\|.*\|)[ \t]*\n\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$", re.MULTILINE)
HEADER_TOKENS = 56  # most tokens that title and heading path may take of a chunk's room
SPECIAL_TOKENS = 2
MERGE_SHARE = 0.5  # sections smaller than this share of a chunk are merged with their neighbours


@dataclass(frozen=True)
class ChunkSpan:
    """A chunk: `text == document.text[start:end]`. `embedded` is the exact string to give to the embedder."""

    start: int
    end: int
    text: str
    heading_path: tuple[str, ...]
    page_start: int | None
    page_end: int | None
    token_count: int
    embedded: str

    @property
    def embedded_sha256(self) -> str:
        """Identity of the vector: equal strings have equal vectors under one model."""
        return hashlib.sha256(self.embedded.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class _Section:
    start: int
    end: int
    path: tuple[str, ...]
    page: int | None


class Chunker:
    """Splits texts for one embedder.

    Args:
        embedder: measures tokens and knows how many it reads.
        chunk_tokens: largest chunk, title and heading path included; capped by the embedder's limit.
        overlap_tokens: tokens that neighbouring chunks share.
    """

    def __init__(self, embedder: Embedder, *, chunk_tokens: int, overlap_tokens: int = 0) -> None:
        self._embedder = embedder
        self._room = min(chunk_tokens, embedder.max_tokens - SPECIAL_TOKENS)
        self._prefix_room = min(HEADER_TOKENS, self._room // 3)
        self._overlap = overlap_tokens

    def split(self, parsed: Parsed, title: str) -> list[ChunkSpan]:
        """The chunks of a document, in order."""
        spans = []
        tables = _tables(parsed.text)
        for section in self._merged(_sections(parsed)):
            # A header row may go with any chunk of its table: room is kept for it.
            rows = {row for first, last, row in tables if first < section.end and section.start < last}
            prefixes = [self._prefix(title, path) for path in [section.path, *((*section.path, row) for row in rows)]]
            room = self._room - max(self._embedder.count_tokens(prefixes))
            for start, end in self._pieces(parsed.text, section, room):
                spans.append(self._span(parsed, title, section.path, start, end, tables))
        return spans

    @property
    def reads(self) -> int:
        """Most tokens of one embedded string that the model sees, special tokens left out."""
        return self._embedder.max_tokens - SPECIAL_TOKENS

    def embedded(self, title: str, path: tuple[str, ...], text: str) -> str:
        """The string to embed for a chunk: what leads to it, then its text."""
        return f"{self._prefix(title, path)}{text}"

    def _pieces(self, text: str, section: _Section, room: int) -> Iterator[tuple[int, int]]:
        splitter = RecursiveCharacterTextSplitter(
            separators=SEPARATORS,
            is_separator_regex=True,
            keep_separator="end",
            strip_whitespace=False,
            chunk_size=room,
            chunk_overlap=min(self._overlap, room // 2),
            length_function=functools.cache(self._length),  # the splitter asks twice for every piece
            add_start_index=False,
        )
        body = text[section.start : section.end]
        position = 0
        for piece in splitter.split_text(body):
            found = body.find(piece, max(0, position - len(piece) if self._overlap else position))
            found = found if found >= 0 else body.index(piece)
            position = found + len(piece)
            start, end = _trim(text, section.start + found, section.start + position)
            if start < end and re.search(r"\w", text[start:end]):
                yield start, end

    def _span(
        self,
        parsed: Parsed,
        title: str,
        path: tuple[str, ...],
        start: int,
        end: int,
        tables: list[tuple[int, int, str]],
    ) -> ChunkSpan:
        header = next((row for first, last, row in tables if first < start < last), "")
        shown = (*path, header) if header else path
        body = parsed.text[start:end]
        embedded = self.embedded(title, shown, body)
        first, last = _pages(parsed, start, end)
        return ChunkSpan(start, end, body, shown, first, last, self._length(body), embedded)

    def _prefix(self, title: str, path: tuple[str, ...]) -> str:
        """Title and heading path, from the innermost outwards as far as they fit."""
        parts: list[str] = []
        for part in (*reversed(path), title):
            shown = " ".join(part.split())[:300]
            if not shown or shown in parts:
                continue
            if self._embedder.count_tokens([" > ".join([shown, *parts])])[0] > self._prefix_room:
                break
            parts.insert(0, shown)
        return f"{' > '.join(parts)}\n" if parts else ""

    def _merged(self, sections: list[_Section]) -> Iterator[_Section]:
        """Neighbouring small sections of one page, joined while they fit; the heading path is what they share."""
        limit = int(self._room * MERGE_SHARE)
        held: _Section | None = None
        held_tokens = 0
        for section in sections:
            tokens = self._length_of(section)
            if (
                held is not None
                and held.page == section.page
                and held_tokens < limit
                and held_tokens + tokens <= limit * 1.5
            ):
                held = _Section(held.start, section.end, _common(held.path, section.path), held.page)
                held_tokens += tokens
                continue
            if held is not None:
                yield held
            held, held_tokens = section, tokens
        if held is not None:
            yield held

    def _length_of(self, section: _Section) -> int:
        # About three characters a token is enough to tell small sections from large ones.
        return (section.end - section.start) // 3

    def _length(self, text: str) -> int:
        return self._embedder.count_tokens([text])[0]


def _sections(parsed: Parsed) -> list[_Section]:
    """Bounds of headings and pages, each with the headings above it."""
    fenced = [(match.start(), match.end()) for match in FENCE.finditer(parsed.text)] if parsed.has_headings else []
    cuts: list[tuple[int, int, str]] = [(0, 0, "")]
    if parsed.has_headings:
        cuts += [
            (match.start(), len(match.group(1)), match.group(2).strip())
            for match in HEADING.finditer(parsed.text)
            if not any(first <= match.start() < last for first, last in fenced)
        ]
    cuts += [(start, 0, "") for start, _ in parsed.pages]
    cuts.sort(key=lambda cut: (cut[0], cut[1]))
    sections: list[_Section] = []
    path: list[tuple[int, str]] = []
    for index, (start, level, heading) in enumerate(cuts):
        end = cuts[index + 1][0] if index + 1 < len(cuts) else len(parsed.text)
        if level:
            path = [entry for entry in path if entry[0] < level] + [(level, heading)]
        if start < end:
            page = _page(parsed, start)
            sections.append(_Section(start, end, tuple(name for _, name in path), page))
    return sections


def _tables(text: str) -> list[tuple[int, int, str]]:
    """Where each Markdown table's rows begin and end, with its header row."""
    found = []
    for match in TABLE_HEADER.finditer(text):
        end = match.end()
        while (line_end := text.find("\n", end + 1)) >= 0 and text[end + 1 : end + 2] == "|":
            end = line_end
        if text[end + 1 : end + 2] == "|":
            end = len(text)
        found.append((match.start(), end, match.group(1).strip("| ").replace(" | ", ", ")))
    return found


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _page(parsed: Parsed, position: int) -> int | None:
    if not parsed.pages:
        return None
    return max(1, bisect_right([start for start, _ in parsed.pages], position))


def _pages(parsed: Parsed, start: int, end: int) -> tuple[int | None, int | None]:
    return _page(parsed, start), _page(parsed, max(start, end - 1))


def _common(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    shared = []
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        shared.append(one)
    return tuple(shared)
