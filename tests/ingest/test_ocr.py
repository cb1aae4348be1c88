"""Pages without a usable text layer are recognised page by page, or said to be without text."""

import re
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image, ImageDraw, ImageFont

from folio.errors import IngestError
from folio.settings import Settings
from ingest import ocr
from ingest.extraction import extract, page_ranges
from ingest.ocr_layout import Piece, text_of

ENGLISH = "The library closes at nine on Fridays."
CHINESE = "图书馆星期一闭馆，其他时间正常开放。"
HAN_FONT = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")

needs_ocr = pytest.mark.skipif(not ocr.is_installed(), reason="text recognition (the extra `ocr`) is not installed")


def scan(*lines: str) -> Image.Image:
    """A picture of a page, as a scanner gives it."""
    picture = Image.new("RGB", (760, 700), "white")
    font = ImageFont.truetype(str(HAN_FONT), 36) if HAN_FONT.exists() else ImageFont.load_default(36)
    for index, line in enumerate(lines):
        ImageDraw.Draw(picture).text((60, 60 + 70 * index), line, fill="black", font=font)
    return picture


def pdf_of(path: Path, *pages: Image.Image | Path) -> Path:
    """A PDF of pictures and of other PDFs' pages."""
    whole = pypdfium2.PdfDocument.new()
    for index, page in enumerate(pages):
        source = page
        if isinstance(page, Image.Image):
            source = path.with_name(f"{index}.pdf")
            page.save(source)
        with pypdfium2.PdfDocument(source) as document:
            whole.import_pages(document)
    whole.save(path)
    return path


def written(path: Path, text: str, *, mapped: bool = True) -> Path:
    """A PDF whose text layer says `text`, or, unless `mapped`, half of it in codes that mean nothing."""
    drawn = (
        text if mapped else "".join(chr(0xE000 + ord(char)) if index % 2 else char for index, char in enumerate(text))
    )
    codes = "".join(f"{ord(char):04x}" for char in drawn)
    pairs = "".join(f"<{ord(char):04x}> <{ord(char):04x}>\n" for char in dict.fromkeys(drawn))
    cmap = (
        "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange "
        f"{len(set(drawn))} beginbfchar\n{pairs}endbfchar endcmap end"
    )
    content = f"BT /F 24 Tf 40 200 Td <{codes}> Tj ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 300] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type0 /BaseFont /Helvetica /Encoding /Identity-H /DescendantFonts [6 0 R] "
        "/ToUnicode 7 0 R >>",
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Helvetica /DW 600 "
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        f"<< /Length {len(cmap)} >>\nstream\n{cmap}\nendstream",
    ]
    body = "".join(f"{number} 0 obj\n{entry}\nendobj\n" for number, entry in enumerate(objects, start=1))
    path.write_bytes(f"%PDF-1.7\n{body}trailer << /Root 1 0 R >>".encode("latin-1"))
    return path


def read(path: Path, **settings: object):
    return extract(path, path.name, "", Settings(**settings), lambda: None)


@needs_ocr
@pytest.mark.hostile
def test_only_pages_without_a_usable_text_layer_are_recognised_in_english_and_chinese(tmp_path):
    text = written(tmp_path / "text.pdf", "Page one has its own text.")
    garbled = written(tmp_path / "garbled.pdf", "Nobody can read this.", mapped=False)
    parsed = read(pdf_of(tmp_path / "mixed.pdf", text, scan(ENGLISH, CHINESE), garbled))
    pages = [parsed.text[start:end] for start, end in parsed.pages]
    assert pages[0] == "Page one has its own text."
    assert ENGLISH in pages[1]
    assert re.search("图书馆星期一闭馆.其他时间正常开放", pages[1])
    assert parsed.unread_pages == (2, 3)
    assert parsed.meta["ocr_pages"].startswith("2")


def test_without_recognition_a_scan_says_how_to_get_it(tmp_path, monkeypatch):
    path = pdf_of(tmp_path / "scan.pdf", scan(ENGLISH))
    with pytest.raises(IngestError, match="FOLIO_OCR") as switched_off:
        read(path, ocr="off")
    assert switched_off.value.reason == "no_text"
    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    with pytest.raises(IngestError, match=re.escape("folio[ocr]")) as not_installed:
        read(path)
    assert not_installed.value.reason == "no_text"


def test_without_recognition_a_mixed_document_says_which_pages_have_no_text(tmp_path):
    text = written(tmp_path / "text.pdf", "Page one has its own text.")
    parsed = read(pdf_of(tmp_path / "mixed.pdf", text, scan(ENGLISH), scan(CHINESE)), ocr="off")
    assert parsed.text.strip() == "Page one has its own text."
    assert parsed.meta == {"pages_without_text": "2-3"}


def test_a_blank_page_is_no_page_without_text(tmp_path):
    text = written(tmp_path / "text.pdf", "Page one has its own text.")
    parsed = read(pdf_of(tmp_path / "blank.pdf", text, Image.new("RGB", (600, 300), "white")))
    assert parsed.unread_pages == ()


def test_a_garbled_text_layer_is_not_taken_for_text(tmp_path):
    with pytest.raises(IngestError) as refused:
        read(written(tmp_path / "garbled.pdf", "Nobody can read this.", mapped=False), ocr="off")
    assert refused.value.reason == "no_text"


def test_recognised_columns_are_read_one_after_the_other_and_table_rows_across():
    heading = Piece("Heading", 100, 10, 900, 40)
    columns = [Piece(f"{name}{y}", x, y, x + 380, y + 20) for y in (60, 90) for x, name in ((100, "l"), (520, "r"))]
    cells = [Piece(f"{name}{y}", x, y, x + 60, y + 20) for y in (200, 230) for x, name in ((100, "a"), (520, "b"))]
    assert text_of([heading, *columns], 1000).split() == ["Heading", "l60", "l90", "r60", "r90"]
    assert text_of(cells, 1000).splitlines() == ["a200  b200", "a230  b230"]


def test_page_numbers_are_written_as_ranges():
    assert page_ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
