"""PDFs are read as people read them: columns, turned pages, forms, notes, Arabic."""

from pathlib import Path

import pytest

from ingest.parsers.pdf import parse_pdf

FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def pdf(path: Path, content: str, *, page: str = "", further: tuple[str, ...] = (), root: str = "") -> Path:
    """A page of one content stream; `further` objects are numbered from 6."""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {root} >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 400] /Contents 4 0 R "
        f"/Resources << /Font << /F 5 0 R >> >> {page} >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        FONT,
        *further,
    ]
    body = "".join(f"{number} 0 obj\n{entry}\nendobj\n" for number, entry in enumerate(objects, start=1))
    path.write_bytes(f"%PDF-1.7\n{body}trailer << /Root 1 0 R >>".encode("latin-1"))
    return path


def line(x: int, y: int, text: str) -> str:
    return f"BT /F 12 Tf {x} {y} Td ({text}) Tj ET\n"


def words(path: Path) -> list[str]:
    return parse_pdf(path, path.name).text.split()


def test_columns_are_read_one_after_the_other(tmp_path):
    left = [line(40, 300 - 20 * row, f"left{row}") for row in range(3)]
    right = [line(320, 300 - 20 * row, f"right{row}") for row in range(3)]
    found = words(pdf(tmp_path / "columns.pdf", line(40, 350, "Heading") + "".join(left + right)))
    assert found == ["Heading", "left0", "left1", "left2", "right0", "right1", "right2"]


@pytest.mark.parametrize(
    ("turn", "matrix", "step"), [(90, "0 1 -1 0", 20), (180, "-1 0 0 -1", 0), (270, "0 -1 1 0", -20)]
)
def test_a_page_that_is_turned_to_be_read_is_read_in_order(tmp_path, turn, matrix, step):
    lines = ("The first line", "and the second.")
    content = "".join(
        f"BT /F 12 Tf {matrix} {300 + step * row} {200 + (20 * row if step == 0 else 0)} Tm ({text}) Tj ET\n"
        for row, text in enumerate(lines)
    )
    found = words(pdf(tmp_path / "turned.pdf", content, page=f"/Rotate {turn}"))
    assert " ".join(found) == " ".join(lines)


def test_what_is_filled_into_a_form_is_read(tmp_path):
    field = ("<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada Lovelace) /Rect [40 200 300 220] /P 3 0 R >>",)
    path = pdf(
        tmp_path / "form.pdf", line(40, 300, "Name:"), page="/Annots [6 0 R]", further=field,
        root="/AcroForm << /Fields [6 0 R] >>",
    )  # fmt: skip
    assert words(path) == ["Name:", "Ada", "Lovelace"]


def test_notes_and_comments_are_read(tmp_path):
    notes = (
        "<< /Type /Annot /Subtype /Text /Contents (Check this figure) /Rect [40 200 60 220] >>",
        "<< /Type /Annot /Subtype /FreeText /Contents (Approved) /Rect [40 150 90 170] >>",
        "<< /Type /Annot /Subtype /Link /Contents (nobody reads this) /Rect [40 100 90 120] >>",
    )
    path = pdf(tmp_path / "notes.pdf", line(40, 300, "Text."), page="/Annots [6 0 R 7 0 R 8 0 R]", further=notes)
    assert parse_pdf(path, path.name).text == "Text.\nComment: Check this figure\nComment: Approved"
