"""PDFs are read as people read them: columns, turned pages, forms, notes, Hebrew and Arabic."""

from pathlib import Path

import pypdfium2
import pytest

from ingest.boxes import span_boxes
from ingest.parsers.pdf import parse_pdf

RIGHT_TO_LEFT = Path(__file__).parent / "fixtures" / "right_to_left.pdf"  # see make_right_to_left.py beside it

FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def pdf(
    path: Path, content: str, *, page: str = "", further: tuple[str, ...] = (), root: str = "", trailer: str = ""
) -> Path:
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
    path.write_bytes(f"%PDF-1.7\n{body}trailer << /Root 1 0 R {trailer} >>".encode("latin-1"))
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


def test_lines_from_right_to_left_are_read_in_their_order():
    """Among them words of the other script, numbers, brackets, a ligature, and replacement texts."""
    *lines, latin_line = RIGHT_TO_LEFT.with_suffix(".txt").read_text("utf-8").splitlines()
    first, second = parse_pdf(RIGHT_TO_LEFT, RIGHT_TO_LEFT.name).text.split("\n\n")
    assert first.split("\n") == lines
    assert second == latin_line


def test_a_line_from_right_to_left_that_is_turned_is_read_in_its_order(tmp_path):
    with pypdfium2.PdfDocument(RIGHT_TO_LEFT) as document:
        page = document[0]
        width, height = page.get_size()
        page.set_mediabox(-height, 0, 0, width)
        page.set_rotation(90)
        for piece in page.get_objects():
            piece.transform(pypdfium2.PdfMatrix().rotate(90, ccw=True))
        page.gen_content()
        document.save(tmp_path / "turned.pdf")
    upright, turned = (parse_pdf(path, path.name).text for path in (RIGHT_TO_LEFT, tmp_path / "turned.pdf"))
    assert turned.split("\n")[:2] == upright.split("\n")[:2]


def test_a_word_of_a_line_from_right_to_left_is_marked_where_it_stands():
    text = parse_pdf(RIGHT_TO_LEFT, RIGHT_TO_LEFT.name).text
    boxes = {word: span_boxes(RIGHT_TO_LEFT, 1, text[: text.index(word)], word) for word in ("تفتح", "10:45", "صباحا")}
    middles = {word: sum(box.x for box in found) / len(found) for word, found in boxes.items()}
    assert middles["تفتح"] > middles["10:45"] > middles["صباحا"]
    assert len({round(box.y, 1) for found in boxes.values() for box in found}) == 1


@pytest.mark.parametrize(
    ("said", "title"), [("untitled", ""), ("\\(anonymous\\)", ""), ("Untitled Lamps", "Untitled Lamps")]
)
def test_a_title_that_a_program_wrote_for_want_of_one_is_none(tmp_path, said, title):
    path = pdf(tmp_path / "a.pdf", line(50, 300, "A lamp."), further=(f"<< /Title ({said}) >>",), trailer="/Info 6 0 R")
    assert parse_pdf(path, "a.pdf").title == title
