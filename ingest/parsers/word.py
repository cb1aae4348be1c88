"""Word documents through python-docx: headings, lists, tables, text boxes, notes, comments, headers and footers.

The XML is walked directly, because text boxes, ruby and notes have no place in python-docx's own paragraphs. Text that
was deleted with tracked changes, and the copies that old Word versions read (`mc:Fallback`), are left out.
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import docx
from docx.opc.exceptions import PackageNotFoundError
from lxml import etree

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed
from ingest.parsers.office import require_zip
from ingest.parsers.tables import markdown_table
from ingest.parsers.word_numbers import Numbering, read_numbering

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
SKIPPED = {f"{W}del", f"{W}rt", f"{W}pPr", f"{W}rPr", f"{W}instrText", f"{W}delText", FALLBACK}
MARKS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
BOX = f"{W}txbxContent"
HEADING_STYLE = re.compile(r"heading ([1-6])", re.IGNORECASE)
ASIDES = ("footnotes", "endnotes", "comments")
SAFE_XML = etree.XMLParser(resolve_entities=False, no_network=True)
Element = etree._Element


@dataclass(frozen=True)
class _Styles:
    """What a paragraph's style says: its heading level, its number."""

    heading_levels: dict[str, int] = field(default_factory=dict)
    numbering: Numbering = field(default_factory=Numbering)


PLAIN = _Styles()


def parse_docx(path: Path, filename: str) -> Parsed:
    """A Word document as Markdown.

    Raises:
        IngestError: `encrypted` or `corrupt`.
    """
    require_zip(path, "Word document")
    try:
        document = docx.Document(str(path))
        styles = _Styles(_heading_levels(document), _numbering(document))
        blocks = [*_margins(document, "header"), *_blocks(document.element.body, styles)]
        for name, root in _asides(document):
            blocks += [f"{name}: {block}" for block in _blocks(root, PLAIN)]
        blocks += _margins(document, "footer")
        title = document.core_properties.title.strip()
    except (KeyError, ValueError, PackageNotFoundError, etree.XMLSyntaxError, zipfile.BadZipFile) as exc:
        raise IngestError(reasons.CORRUPT, "The Word document is damaged.") from exc
    return Parsed(text="\n\n".join(blocks), title=title, has_headings=True)


def _numbering(document: "docx.document.Document") -> Numbering:
    parts = {relation.reltype.rsplit("/", 1)[-1]: relation for relation in document.part.rels.values()}
    root = etree.fromstring(parts["numbering"].target_part.blob, SAFE_XML) if "numbering" in parts else None
    return read_numbering(root, document.styles.element)


def _heading_levels(document: "docx.document.Document") -> dict[str, int]:
    """Heading level by style id; the title style counts as level 1."""
    levels = {}
    for style in document.styles:
        name = style.name or ""
        found = HEADING_STYLE.fullmatch(name)
        if found or name.lower() == "title":
            levels[style.style_id] = int(found.group(1)) if found else 1
    return levels


def _blocks(root: Element, styles: _Styles) -> Iterator[str]:
    """Paragraphs and tables below `root`, in order, each as one Markdown block."""
    for child in root:
        if child.tag == f"{W}p":
            yield from _paragraph(child, styles)
        elif child.tag == f"{W}tbl":
            rows = [[_cell(cell) for cell in row.iter(f"{W}tc")] for row in child.iterchildren(f"{W}tr")]
            if table := markdown_table(rows):
                yield table
        elif child.tag not in SKIPPED and isinstance(child.tag, str):
            yield from _blocks(child, styles)


def _paragraph(paragraph: Element, styles: _Styles) -> Iterator[str]:
    text = "".join(_pieces(paragraph)).strip()
    if text:
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        level = styles.heading_levels.get(style.get(f"{W}val", "") if style is not None else "", 0)
        numbered = f"{styles.numbering.label(paragraph)} {text}".strip()
        yield f"{'#' * level} {' '.join(numbered.split())}" if level else numbered
    for box in _boxes(paragraph):
        yield from _blocks(box, PLAIN)


def _pieces(element: Element) -> Iterator[str]:
    """The text of a paragraph without that of the text boxes anchored in it."""
    for child in element:
        if child.tag in (f"{W}t", M_TEXT):
            yield child.text or ""
        elif child.tag in MARKS:
            yield MARKS[child.tag]
        elif child.tag not in SKIPPED and child.tag != BOX:
            yield from _pieces(child)


def _boxes(element: Element) -> Iterator[Element]:
    for child in element:
        if child.tag == BOX:
            yield child
        elif child.tag not in SKIPPED:
            yield from _boxes(child)


def _cell(cell: Element) -> str:
    return " ".join(block.lstrip("#- ") for block in _blocks(cell, PLAIN))


def _asides(document: "docx.document.Document") -> Iterator[tuple[str, Element]]:
    """Footnotes, endnotes and comments: what to call each, and its XML."""
    for relation in document.part.rels.values():
        kind = relation.reltype.rsplit("/", 1)[-1]
        if kind in ASIDES and not relation.is_external:
            root = etree.fromstring(relation.target_part.blob, SAFE_XML)
            for note in root:
                author = note.get(f"{W}author")
                yield f"{kind[:-1].capitalize()} by {author}" if author else kind[:-1].capitalize(), note


def _margins(document: "docx.document.Document", kind: str) -> list[str]:
    """The distinct headers, or footers, of all sections."""
    found: dict[str, None] = {}
    for section in document.sections:
        for prefix in ("", "first_page_", "even_page_"):
            margin = getattr(section, f"{prefix}{kind}")
            if not margin.is_linked_to_previous:
                found |= dict.fromkeys(_blocks(margin._element, PLAIN))
    return list(found)
