"""Presentations through python-pptx: a page a slide, with tables, charts, diagrams, notes and comments."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree
from pptx import Presentation
from pptx.exc import PackageNotFoundError

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed, join_pages
from ingest.parsers.office import require_zip
from ingest.parsers.tables import markdown_table

C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
A_TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"
P_TEXT = "{http://schemas.openxmlformats.org/presentationml/2006/main}text"
SAFE_XML = etree.XMLParser(resolve_entities=False, no_network=True)


def parse_pptx(path: Path, filename: str) -> Parsed:
    """A presentation.

    Raises:
        IngestError: `encrypted` or `corrupt`.
    """
    require_zip(path, "presentation")
    try:
        presentation = Presentation(str(path))
        authors = _authors(presentation)
        slides = [
            "\n\n".join(filter(None, map(str.strip, _slide_texts(slide, authors)))) for slide in presentation.slides
        ]
        title = (presentation.core_properties.title or "").strip()
    except (PackageNotFoundError, KeyError, ValueError, etree.XMLSyntaxError, zipfile.BadZipFile) as exc:
        raise IngestError(reasons.CORRUPT, "The presentation is damaged.") from exc
    text, pages = join_pages(slides)
    return Parsed(text=text, title=title, pages=pages, has_headings=True)


def _slide_texts(slide: Any, authors: dict[str, str]) -> Iterator[str]:
    title = slide.shapes.title
    if title is not None and title.text_frame.text.strip():
        yield f"# {' '.join(title.text_frame.text.split())}"
    for shape in slide.shapes:
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape_texts(shape)
    yield from _related_texts(slide.part, authors)
    if slide.has_notes_slide:
        for shape in slide.notes_slide.shapes:
            yield from _shape_texts(shape)


def _shape_texts(shape: Any) -> Iterator[str]:
    if hasattr(shape, "shapes"):
        for inner in shape.shapes:
            yield from _shape_texts(inner)
    elif getattr(shape, "has_table", False):
        yield markdown_table([[cell.text for cell in row.cells] for row in shape.table.rows])
    elif getattr(shape, "has_chart", False):
        yield from _chart_texts(shape.chart.part.blob)
    elif getattr(shape, "has_text_frame", False):
        yield shape.text_frame.text


def _chart_texts(blob: bytes) -> Iterator[str]:
    """Titles and data of a chart of any type, as its XML holds them."""
    root = etree.fromstring(blob, SAFE_XML)
    for title in root.iter(f"{C}title"):
        yield "".join(node.text or "" for node in title.iter(A_TEXT))
    series = list(root.iter(f"{C}ser"))
    for drawn in series[:1]:
        names = [one.findtext(f"{C}tx//{C}v") or "" for one in series]
        values = [_points(one, "val") or _points(one, "yVal") for one in series]
        categories = _points(drawn, "cat") or _points(drawn, "xVal")
        rows = max((len(column) for column in (categories, *values)), default=0)
        columns = [column + [""] * (rows - len(column)) for column in (categories, *values)]
        yield markdown_table([["", *names], *([*row] for row in zip(*columns, strict=True))])


def _points(series: etree._Element, kind: str) -> list[str]:
    return [node.text or "" for node in series.iterfind(f"{C}{kind}//{C}pt/{C}v")]


def _related_texts(part: Any, authors: dict[str, str]) -> Iterator[str]:
    """What lies beside the slide: the text of diagrams (SmartArt), and comments with who wrote them and when."""
    for relation in part.rels.values():
        kind = relation.reltype.rsplit("/", 1)[-1]
        if relation.is_external or kind not in ("diagramData", "comments"):
            continue
        root = etree.fromstring(relation.target_part.blob, SAFE_XML)
        if kind == "diagramData":
            yield from (node.text or "" for node in root.iter(A_TEXT))
            continue
        for comment in root.iter("{*}cm", "{*}reply"):
            text = " ".join(node.text or "" for node in _own_texts(comment))
            when = comment.get("dt") or comment.get("created") or ""
            yield f"Comment by {authors.get(comment.get('authorId', ''), 'unknown')} ({when}): {text}"


def _own_texts(comment: etree._Element) -> Iterator[etree._Element]:
    """Text nodes of a comment without those of its replies."""
    for child in comment:
        if child.tag in (A_TEXT, P_TEXT):
            yield child
        elif etree.QName(child).localname != "reply":
            yield from _own_texts(child)


def _authors(presentation: Any) -> dict[str, str]:
    """Names of those who commented, by the id that comments use."""
    names = {}
    for relation in presentation.part.rels.values():
        if relation.reltype.rsplit("/", 1)[-1] in ("commentAuthors", "authors") and not relation.is_external:
            root = etree.fromstring(relation.target_part.blob, SAFE_XML)
            for author in root.iter("{*}cmAuthor", "{*}author"):
                names[author.get("id", "")] = f"{author.get('name', '')} {author.get('initials', '')}".strip()
    return names
