"""Word through mammoth, PowerPoint through python-pptx, OpenDocument text through odfdo, RTF through striprtf."""

import re
import zipfile
from pathlib import Path

import mammoth
from odfdo import Document as OdfDocument
from pptx import Presentation
from pptx.exc import PackageNotFoundError
from striprtf.striprtf import rtf_to_text

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed, join_pages
from ingest.parsers.tables import markdown_table
from ingest.parsers.web_page import to_markdown

OLE_MAGIC = b"\xd0\xcf\x11\xe0"  # an Office file with a password is an OLE container around the ZIP
CORE_TITLE = re.compile(r"<dc:title>([^<]+)</dc:title>")


def parse_docx(path: Path, filename: str) -> Parsed:
    """A Word document as Markdown: headings, lists, tables, notes."""
    _require_zip(path, "Word document")
    try:
        with path.open("rb") as stream:
            markdown = to_markdown(mammoth.convert_to_html(stream).value)
    except (KeyError, ValueError, zipfile.BadZipFile) as exc:
        raise IngestError(reasons.CORRUPT, "The Word document is damaged.") from exc
    return Parsed(text=markdown, title=_core_title(path), has_headings=True)


def parse_pptx(path: Path, filename: str) -> Parsed:
    """A presentation: a page a slide, with its tables and notes."""
    _require_zip(path, "presentation")
    try:
        presentation = Presentation(str(path))
        slides = [_slide_text(slide) for slide in presentation.slides]
    except (PackageNotFoundError, KeyError, ValueError, zipfile.BadZipFile) as exc:
        raise IngestError(reasons.CORRUPT, "The presentation is damaged.") from exc
    text, pages = join_pages(slides)
    return Parsed(text=text, title=(presentation.core_properties.title or "").strip(), pages=pages, has_headings=True)


def _slide_text(slide: object) -> str:
    parts: list[str] = []
    title = slide.shapes.title  # type: ignore[attr-defined]
    if title is not None and title.text_frame.text.strip():
        parts.append(f"# {' '.join(title.text_frame.text.split())}")
    for shape in slide.shapes:  # type: ignore[attr-defined]
        if shape != title:
            parts += _shape_texts(shape)
    if slide.has_notes_slide:  # type: ignore[attr-defined]
        parts.append(slide.notes_slide.notes_text_frame.text)  # type: ignore[attr-defined]
    return "\n\n".join(part.strip() for part in parts if part and part.strip())


def _shape_texts(shape: object) -> list[str]:
    if hasattr(shape, "shapes"):
        return [text for inner in shape.shapes for text in _shape_texts(inner)]
    if getattr(shape, "has_table", False):
        rows = [[cell.text for cell in row.cells] for row in shape.table.rows]  # type: ignore[attr-defined]
        return [markdown_table(rows)]
    if getattr(shape, "has_chart", False):
        return _chart_texts(shape.chart)  # type: ignore[attr-defined]
    return [shape.text_frame.text] if getattr(shape, "has_text_frame", False) else []  # type: ignore[attr-defined]


def _chart_texts(chart: object) -> list[str]:
    plot = chart.plots[0]  # type: ignore[attr-defined]
    header = ["", *(str(category) for category in plot.categories)]
    rows = [[series.name, *(str(value) for value in series.values)] for series in plot.series]
    title = chart.chart_title.text_frame.text if chart.has_title else ""  # type: ignore[attr-defined]
    return [title, markdown_table([header, *rows])]


def parse_odf_text(path: Path, filename: str) -> Parsed:
    """An OpenDocument text or presentation, as plain text."""
    _require_zip(path, "OpenDocument file")
    try:
        document = OdfDocument(path)
        text = document.to_markdown() if document.get_type() == "text" else document.get_formatted_text()
        return Parsed(text=str(text), has_headings=True)
    except (KeyError, ValueError, zipfile.BadZipFile) as exc:
        raise IngestError(reasons.CORRUPT, "The OpenDocument file is damaged.") from exc


def parse_rtf(path: Path, filename: str) -> Parsed:
    """Rich text as plain text."""
    data = path.read_bytes()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise IngestError(reasons.CORRUPT, "The file is not rich text.")
    return Parsed(text=rtf_to_text(data.decode("latin-1"), encoding="cp1252", errors="replace").replace("\r\n", "\n"))


def _require_zip(path: Path, what: str) -> None:
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic == OLE_MAGIC:
        raise IngestError(
            reasons.ENCRYPTED, f"The {what} is protected by a password. Remove it and add the file again."
        )
    if not zipfile.is_zipfile(path):
        raise IngestError(reasons.CORRUPT, f"The {what} is damaged, or is not one.")


def _core_title(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        try:
            core = archive.read("docProps/core.xml").decode("utf-8", "replace")
        except KeyError:
            return ""
    found = CORE_TITLE.search(core)
    return found.group(1).strip() if found else ""
