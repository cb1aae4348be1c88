"""PDF through PDFium: text page by page, in the reading order of the file."""

import re
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium_c

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed, join_pages
from ingest.parsers.pdf_quality import TextLayer, text_layer
from ingest.parsers.right_to_left import RIGHT_TO_LEFT, page_characters

CJK = r"\u3000-\u303f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
BROKEN_CJK_LINE = re.compile(rf"(?<=[{CJK}])[ \t]*\n[ \t]*(?=[{CJK}])")
HYPHENATED = re.compile(r"(?<=[a-z])(?:\ufffe|-)\n(?=[a-z])")
SOFT_MARKS = re.compile(r"[\ufffe\uffff\u00ad\u0000]")
NO_TITLES = frozenset({"untitled", "untitled document", "(anonymous)", "anonymous", "无标题"})  # as programs write

COMMENTS = (
    pdfium_c.FPDF_ANNOT_TEXT, pdfium_c.FPDF_ANNOT_FREETEXT, pdfium_c.FPDF_ANNOT_HIGHLIGHT,
    pdfium_c.FPDF_ANNOT_UNDERLINE, pdfium_c.FPDF_ANNOT_STRIKEOUT, pdfium_c.FPDF_ANNOT_SQUIGGLY,
    pdfium_c.FPDF_ANNOT_STAMP, pdfium_c.FPDF_ANNOT_CARET,
)  # fmt: skip


def parse_pdf(path: Path, filename: str) -> Parsed:
    """Text of a PDF. Lines broken inside a Chinese or Japanese sentence are joined again.

    Pages whose text layer is missing or garbled are named in `unread_pages`; garbled text is left out.

    Raises:
        IngestError: `encrypted` or `corrupt`.
    """
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as exc:
        if getattr(exc, "err_code", None) == pdfium_c.FPDF_ERR_PASSWORD:
            raise IngestError(
                reasons.ENCRYPTED, "The PDF is protected by a password. Remove it and add the file again."
            ) from exc
        raise IngestError(reasons.CORRUPT, "The PDF can't be opened; it is damaged or not a PDF.") from exc
    try:
        if document.get_formtype() != pdfium_c.FORMTYPE_NONE:
            document.init_forms()
        pages = [read_page(document, number) for number in range(len(document))]
        title = (document.get_metadata_dict().get("Title") or "").strip()
        title = "" if title.lower() in NO_TITLES else title
    except pypdfium2.PdfiumError as exc:
        raise IngestError(reasons.CORRUPT, "The PDF is damaged: a page can't be read.") from exc
    finally:
        document.close()
    text, spans = join_pages([text for text, _ in pages])
    unread = tuple(number for number, (_, is_unread) in enumerate(pages, start=1) if is_unread)
    return Parsed(text=text, title=title, pages=spans, unread_pages=unread)


def read_page(document: pypdfium2.PdfDocument, number: int) -> tuple[str, bool]:
    """The text of page `number`, counted from 0, with form fields at its end; whether it needs text recognition."""
    page = document[number]
    text_page = page.get_textpage()
    try:
        text = logical_text(text_page).replace("\r\n", "\n").replace("\r", "\n")
        fields, comments = _field_values(document, page), _comments(page)
        text = SOFT_MARKS.sub("", joined_lines(text)).strip()
        layer = text_layer(page, text_page, text)
    finally:
        text_page.close()
        page.close()
    text = "" if layer is TextLayer.GARBLED else text
    missing = [value for value in fields if value not in text]
    missing += [f"Comment: {comment}" for comment in comments if comment not in text]
    return "\n".join([text, *missing]) if missing else text, layer is not TextLayer.GOOD


def joined_lines(text: str) -> str:
    """The text with words and Chinese or Japanese sentences whole again that were broken at line ends."""
    return BROKEN_CJK_LINE.sub("", HYPHENATED.sub("", text))


def logical_text(text_page: pypdfium2.PdfTextPage) -> str:
    """The page's text in reading order."""
    text: str = text_page.get_text_bounded()
    if RIGHT_TO_LEFT.search(text):
        return "".join(character for character, _ in page_characters(text_page))
    return text


def _field_values(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> list[str]:
    """What is filled into the form fields of a page; PDFium keeps it apart from the page's text."""
    form = document.formenv
    if form is None:
        return []
    values = []
    for index in range(pdfium_c.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
        try:
            size = pdfium_c.FPDFAnnot_GetFormFieldValue(form, annotation, None, 0)
            if size > 2:
                buffer = (pdfium_c.FPDF_WCHAR * (size // 2))()
                pdfium_c.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size)
                values.append(bytes(buffer).decode("utf-16-le").rstrip("\x00").strip())
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)
    return [value for value in values if value and value != "Off"]


def _comments(page: pypdfium2.PdfPage) -> list[str]:
    """What readers wrote on a page: notes, text boxes, comments on marked text."""
    comments = []
    for index in range(pdfium_c.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
        try:
            size = pdfium_c.FPDFAnnot_GetStringValue(annotation, b"Contents", None, 0)
            if pdfium_c.FPDFAnnot_GetSubtype(annotation) in COMMENTS and size > 2:
                buffer = (pdfium_c.FPDF_WCHAR * (size // 2))()
                pdfium_c.FPDFAnnot_GetStringValue(annotation, b"Contents", buffer, size)
                comments.append(" ".join(bytes(buffer).decode("utf-16-le", "replace").rstrip("\x00").split()))
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)
    return [comment for comment in comments if comment]
