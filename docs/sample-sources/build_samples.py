"""Writes the PDF, DOCX and XLSX files of `data/` from the text sources beside this script.

Run by whoever edits a source, never at set-up: `pip install -e '.[samples]'`, the Debian packages `fonts-dejavu-core`
and `fonts-wqy-microhei`, then `python docs/sample-sources/build_samples.py`. The results are committed.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import docx
from docx.oxml.ns import qn
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from openpyxl import Workbook
from openpyxl.styles import Font
from reportlab.lib import colors
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import Flowable, Paragraph, Preformatted, SimpleDocTemplate, Spacer, Table

SOURCES = Path(__file__).parent
DATA = SOURCES.parents[1] / "data"
FONTS = {
    "en": Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"),
    "zh": Path("/usr/share/fonts/truetype/wqy/wqy-microhei.ttc"),
}
PDFS = (
    "en/kv-cache-and-pagedattention",
    "en/prefill-and-decode",
    "zh/kv-cache-and-pagedattention",
    "zh/reasoning-models",
)
WORDS = ("en/sampling", "en/quantization", "zh/smoothquant", "zh/tools-and-rag")
MADE = datetime(2025, 1, 1, tzinfo=UTC)  # a fixed date, so that a rebuild without changes gives the same bytes


@dataclass(frozen=True)
class Block:
    """One block of a source. `lines` holds its text, its list items or its code; `rows` the cells of a table."""

    kind: str
    level: int = 0
    lines: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def read_blocks(source: Path) -> Iterator[Block]:
    """The blocks of a Markdown source, in reading order. Inline markup is not used in these sources."""
    tree = SyntaxTreeNode(MarkdownIt().enable("table").parse(source.read_text(encoding="utf-8")))
    for node in tree.children:
        match node.type:
            case "heading":
                yield Block("heading", level=int(node.tag[1]), lines=(inline_text(node),))
            case "paragraph":
                yield Block("paragraph", lines=(inline_text(node),))
            case "bullet_list" | "ordered_list":
                yield Block(node.type, lines=tuple(inline_text(item) for item in node.children))
            case "fence":
                yield Block("code", lines=tuple(node.content.rstrip("\n").split("\n")))
            case "table":
                rows = [row for part in node.children for row in part.children]
                yield Block("table", rows=tuple(tuple(inline_text(cell) for cell in row.children) for row in rows))
            case other:
                raise ValueError(f"{source.name}: a block of type {other} has no rendering")


def inline_text(node: SyntaxTreeNode) -> str:
    """The text under a node, without markup."""
    return " ".join(child.content for child in node.walk() if child.type == "inline")


def write_pdf(name: str) -> None:
    """One PDF in A5, with page numbers; the font's used characters alone are embedded."""
    language = name.partition("/")[0]
    blocks = list(read_blocks(SOURCES / f"{name}.md"))
    pdfmetrics.registerFont(TTFont(language, FONTS[language]))
    document = NumberedPages(
        str(DATA / f"{name}.pdf"),
        pagesize=A5,
        leftMargin=16 * mm,
        rightMargin=16 * mm,
        topMargin=16 * mm,
        bottomMargin=18 * mm,
        title=blocks[0].lines[0],
        author="Folio",
        lang=language,
        invariant=1,
    )
    story = [piece for block in blocks for piece in flow(block, language)]
    document.build(story)


class NumberedPages(SimpleDocTemplate):
    """Puts the page number at the foot, last on its page, so that text extraction meets it last too."""

    def afterPage(self) -> None:  # noqa: N802  (reportlab's name)
        self.canv.setFont(self.lang, 8)
        self.canv.drawCentredString(A5[0] / 2, 9 * mm, str(self.page))


def flow(block: Block, language: str) -> Iterator[Flowable]:
    """What a block looks like on a PDF page."""
    wrap = "CJK" if language == "zh" else None
    body = ParagraphStyle("body", fontName=language, fontSize=9.5, leading=14.5, spaceAfter=6, wordWrap=wrap)
    cell = ParagraphStyle("cell", parent=body, fontSize=8, leading=11, spaceAfter=0)
    if block.kind == "heading":
        size = {1: 17, 2: 13, 3: 11}[block.level]
        style = ParagraphStyle(
            "heading",
            parent=body,
            fontSize=size,
            leading=size * 1.35,
            spaceBefore=8,
            keepWithNext=1,
            textColor=colors.navy,
        )
        yield Paragraph(escape(block.lines[0]), style)
    elif block.kind == "paragraph":
        yield Paragraph(escape(block.lines[0]), body)
    elif block.kind == "code":
        yield Preformatted("\n".join(block.lines), ParagraphStyle("code", parent=body, leftIndent=10, fontSize=8.5))
    elif block.kind == "table":
        yield Table(
            [[Paragraph(escape(text), cell) for text in row] for row in block.rows],
            repeatRows=1,
            style=[
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
                ("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke),
            ],
        )
        yield Spacer(1, 8)
    else:
        item = ParagraphStyle("item", parent=body, leftIndent=14, bulletIndent=3, spaceAfter=3)
        for number, text in enumerate(block.lines, start=1):
            yield Paragraph(escape(text), item, bulletText=f"{number}." if block.kind == "ordered_list" else "•")


def write_docx(name: str) -> None:
    """One Word document with real heading, list and table styles."""
    document = docx.Document()
    properties = document.core_properties
    properties.author, properties.language = "Folio", name.partition("/")[0]
    properties.created = properties.modified = MADE
    normal = document.styles["Normal"].element.get_or_add_rPr().get_or_add_rFonts()
    normal.set(qn("w:eastAsia"), "WenQuanYi Micro Hei")
    for block in read_blocks(SOURCES / f"{name}.md"):
        if block.kind == "heading":
            document.add_heading(block.lines[0], block.level)
            if block.level == 1:
                properties.title = block.lines[0]
        elif block.kind == "table":
            add_table(document, block)
        else:
            style = {"bullet_list": "List Bullet", "ordered_list": "List Number"}.get(block.kind)
            for line in block.lines:
                document.add_paragraph(line, style)
    target = DATA / f"{name}.docx"
    document.save(str(target))
    fix_zip_dates(target)


def add_table(document: docx.document.Document, block: Block) -> None:
    """A table whose first row is bold."""
    table = document.add_table(rows=0, cols=len(block.rows[0]), style="Table Grid")
    for index, row in enumerate(block.rows):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.paragraphs[0].add_run(text).bold = index == 0


def write_xlsx(name: str) -> None:
    """One workbook with one sheet from a CSV source. The time of saving is written into it, so its bytes change."""
    with (SOURCES / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    book = Workbook()
    sheet = book.active
    sheet.title = "术语"
    for row in rows:
        sheet.append(row)
    for column, width in zip("ABC", (18, 30, 60), strict=True):
        sheet.column_dimensions[column].width = width
        sheet[f"{column}1"].font = Font(bold=True)
    sheet.freeze_panes = "A2"
    book.save(DATA / f"{name}.xlsx")


def fix_zip_dates(path: Path) -> None:
    """Gives every member of a zip file the same date."""
    with ZipFile(path) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for filename, content in members:
            archive.writestr(ZipInfo(filename, MADE.timetuple()[:6]), content, ZIP_DEFLATED)


if __name__ == "__main__":
    for each in PDFS:
        write_pdf(each)
    for each in WORDS:
        write_docx(each)
    write_xlsx("zh/glossary")
