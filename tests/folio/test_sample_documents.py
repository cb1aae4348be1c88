"""What `data/` promises: readable documents in many formats; questions whose answers stand in them word for word."""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import docx
import lxml.html
import openpyxl
import pypdfium2
import pytest

DATA = Path(__file__).parents[2] / "data"
DOCUMENTS = sorted(path for language in ("en", "zh") for path in (DATA / language).iterdir())
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
ANSWERABLE = [question for question in QUESTIONS if question["answerable"]]


def name(path: Path) -> str:
    return path.relative_to(DATA).as_posix()


def read_text(path: Path) -> str:
    """The plain text of a document, by the simplest reader for its format."""
    match path.suffix:
        case ".pdf":
            with pypdfium2.PdfDocument(path) as pdf:
                return "\n".join(page.get_textpage().get_text_bounded() for page in pdf)
        case ".docx":
            document = docx.Document(str(path))
            cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
            return "\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells])
        case ".html":
            return str(lxml.html.fromstring(path.read_bytes()).text_content())
        case ".xlsx":
            rows = openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True)
            return "\n".join(" ".join(map(str, row)) for row in rows)
    return path.read_text(encoding="utf-8")


def without_spaces(text: str) -> str:
    return re.sub(r"[\s,]+", "", text).casefold()


def is_chinese(text: str) -> bool:
    return len(re.findall(r"[\u4e00-\u9fff]", text)) > 0.1 * len(text)


def test_both_languages_have_about_half_of_the_documents() -> None:
    languages = Counter(path.parent.name for path in DOCUMENTS)
    assert sum(languages.values()) >= 16
    assert min(languages["en"], languages["zh"]) >= 8


def test_the_formats_are_covered_in_both_languages() -> None:
    for language in ("en", "zh"):
        formats = {path.suffix for path in DOCUMENTS if path.parent.name == language}
        assert {".md", ".html", ".pdf", ".docx", ".txt"} <= formats
    assert {".csv", ".xlsx"} <= {path.suffix for path in DOCUMENTS}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_a_document_is_small_readable_and_in_the_language_of_its_folder(path: Path) -> None:
    text = read_text(path)
    assert path.stat().st_size < 150_000
    assert len(text) > (400 if path.suffix in {".csv", ".xlsx"} else 1_000)
    assert "\ufffd" not in text or path.name == "tokenizers.txt"  # which explains this very character
    assert is_chinese(text) == (path.parent.name == "zh")


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.suffix == ".pdf"], ids=name)
def test_a_pdf_has_a_title_and_several_pages_of_text(path: Path) -> None:
    with pypdfium2.PdfDocument(path) as pdf:
        assert pdf.get_metadata_dict()["Title"]
        assert len(pdf) >= 3
        assert all(page.get_textpage().count_chars() > 200 for page in pdf)


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.suffix == ".docx"], ids=name)
def test_a_word_file_has_headings_and_a_table(path: Path) -> None:
    document = docx.Document(str(path))
    headings = [
        each for each in document.paragraphs if each.style is not None and str(each.style.name)[:7] == "Heading"
    ]
    assert len(headings) >= 5
    assert document.tables
    assert document.core_properties.title


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.suffix == ".html"], ids=name)
def test_a_web_page_has_a_menu_and_a_table(path: Path) -> None:
    page = lxml.html.fromstring(path.read_bytes())
    assert page.findall(".//nav")
    assert page.findall(".//table")


def test_forty_questions_twenty_a_language_thirty_answerable() -> None:
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS) == 40
    assert Counter((q["lang"], q["answerable"]) for q in QUESTIONS) == {
        ("en", True): 15,
        ("en", False): 5,
        ("zh", True): 15,
        ("zh", False): 5,
    }


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_a_question_is_complete_and_in_its_language(question: dict[str, Any]) -> None:
    assert set(question) == {"id", "lang", "question", "answerable", "answers", "document", "kind"}
    assert is_chinese(question["question"]) == (question["lang"] == "zh")
    assert bool(question["answers"]) == (question["document"] is not None) == question["answerable"]


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question["id"])
def test_every_expected_answer_stands_in_its_document(question: dict[str, Any]) -> None:
    path = DATA / question["document"]
    assert path.parent.name == question["lang"]
    text = read_text(path)
    assert question["answers"][0] in text
    for answer in question["answers"]:
        assert without_spaces(answer) in without_spaces(text)


def test_the_cache_sizes_in_the_table_follow_from_the_formula() -> None:
    with (DATA / "en" / "kv-cache-sizes.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            sizes = (int(row[field]) for field in ("layers", "kv heads", "head size", "bytes per value"))
            layers, heads, size, width = sizes
            kib = 2 * layers * heads * size * width / 1024
            assert float(row["kv cache per token (KiB)"]) == kib
            assert float(row["kv cache for 32768 tokens (GiB)"]) == kib * 32768 / 1024**2
