"""Spreadsheets through calamine, CSV and TSV through the standard library: a Markdown table a sheet."""

import csv
import datetime
import io
from pathlib import Path

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed, join_pages
from ingest.parsers.office import require_zip
from ingest.parsers.plain import decode


def parse_spreadsheet(path: Path, filename: str) -> Parsed:
    """A workbook (XLSX, XLS, XLSB, ODS): a page a sheet, named by a heading."""
    if not filename.lower().endswith(".xls"):
        require_zip(path, "workbook")
    try:
        workbook = CalamineWorkbook.from_path(str(path))
        sheets = [(name, workbook.get_sheet_by_name(name).to_python()) for name in workbook.sheet_names]
    except PasswordError as exc:
        raise IngestError(reasons.ENCRYPTED, "The workbook is protected by a password.") from exc
    except (CalamineError, ValueError) as exc:
        raise IngestError(reasons.CORRUPT, "The workbook is damaged, or is not one.") from exc
    parts = [
        f"# {name}\n\n{table}"
        for name, rows in sheets
        if (table := markdown_table([[*map(_cell, row)] for row in rows]))
    ]
    if not parts:
        raise IngestError(reasons.NO_TEXT, "The workbook has no filled cell.")
    text, pages = join_pages(parts)
    return Parsed(text=text, pages=pages, has_headings=True)


def parse_csv(path: Path, filename: str) -> Parsed:
    """CSV or TSV; the delimiter is found from the text."""
    text = decode(path.read_bytes())
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:8192], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel_tab if filename.lower().endswith(".tsv") else csv.excel
    rows = list(csv.reader(io.StringIO(text), dialect))
    return Parsed(text=markdown_table(rows), has_headings=False)


def markdown_table(rows: list[list[str]]) -> str:
    """Rows as a Markdown table, the first as its header; empty rows and columns are left out."""
    kept = [[" ".join(str(cell).split()).replace("|", "\\|") for cell in row] for row in rows]
    kept = [row for row in kept if any(row)]
    if not kept:
        return ""
    width = max(len(row) for row in kept)
    padded = [row + [""] * (width - len(row)) for row in kept]
    columns = [index for index in range(width) if any(row[index] for row in padded)]
    lines = ["| " + " | ".join(row[index] for index in columns) + " |" for row in padded]
    return "\n".join([lines[0], "|" + " --- |" * len(columns), *lines[1:]])


def _cell(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return "" if value is None else str(value)
