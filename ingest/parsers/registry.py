"""Which parser reads which file: decided by its name, checked against its first bytes."""

import importlib
import mimetypes
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed

_CODE = (
    "py js mjs ts tsx jsx java c h cc cpp hpp cs go rs rb php swift kt scala sh bash sql r jl lua pl m mm "
    "yaml yml toml ini cfg conf css scss tex bib proto graphql dockerfile makefile gradle cmake diff patch log"
)
# suffix -> (module of ingest.parsers, function, media type)
PARSERS: dict[str, tuple[str, str, str]] = {
    "pdf": ("pdf", "parse_pdf", "application/pdf"),
    "docx": ("word", "parse_docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "docm": ("word", "parse_docx", "application/vnd.ms-word.document.macroEnabled.12"),
    "pptx": ("slides", "parse_pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    "odt": ("office", "parse_odf_text", "application/vnd.oasis.opendocument.text"),
    "odp": ("office", "parse_odf_text", "application/vnd.oasis.opendocument.presentation"),
    "rtf": ("office", "parse_rtf", "application/rtf"),
    "xlsx": ("tables", "parse_spreadsheet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "xlsm": ("tables", "parse_spreadsheet", "application/vnd.ms-excel.sheet.macroEnabled.12"),
    "xls": ("tables", "parse_spreadsheet", "application/vnd.ms-excel"),
    "ods": ("tables", "parse_spreadsheet", "application/vnd.oasis.opendocument.spreadsheet"),
    "csv": ("tables", "parse_csv", "text/csv"),
    "tsv": ("tables", "parse_csv", "text/tab-separated-values"),
    "html": ("web_page", "parse_html", "text/html"),
    "htm": ("web_page", "parse_html", "text/html"),
    "xhtml": ("web_page", "parse_html", "application/xhtml+xml"),
    "md": ("plain", "parse_markdown", "text/markdown"),
    "markdown": ("plain", "parse_markdown", "text/markdown"),
    "txt": ("plain", "parse_text", "text/plain"),
    "text": ("plain", "parse_text", "text/plain"),
    "rst": ("plain", "parse_text", "text/x-rst"),
    "json": ("plain", "parse_json", "application/json"),
    "jsonl": ("plain", "parse_json", "application/jsonl"),
    "ndjson": ("plain", "parse_json", "application/x-ndjson"),
    "xml": ("plain", "parse_text", "application/xml"),
    "epub": ("containers", "parse_epub", "application/epub+zip"),
    "eml": ("mail", "parse_eml", "message/rfc822"),
    "msg": ("containers", "parse_msg", "application/vnd.ms-outlook"),
    "zip": ("archive", "parse_zip", "application/zip"),
    "tar": ("archive", "parse_tar", "application/x-tar"),
    "tgz": ("archive", "parse_tar", "application/gzip"),
    "tar.gz": ("archive", "parse_tar", "application/gzip"),
    "tar.bz2": ("archive", "parse_tar", "application/x-bzip2"),
    "tar.xz": ("archive", "parse_tar", "application/x-xz"),
    **dict.fromkeys(_CODE.split(), ("plain", "parse_text", "text/plain")),
}
UNSTORABLE = re.compile("[\ud800-\udfff\u0000]")
BY_MEDIA_TYPE = {media_type: suffix for suffix, (_, _, media_type) in reversed(PARSERS.items())}


def suffix_of(filename: str, media_type: str = "") -> str:
    """The suffix that decides the parser: the file name's, else that of the media type; empty when neither is known."""
    name = filename.rsplit("/", 1)[-1].lower()
    for suffix in (".".join(name.rsplit(".", 2)[-2:]), name.rsplit(".", 1)[-1]):
        if suffix in PARSERS:
            return suffix
    plain_type = media_type.split(";", maxsplit=1)[0].strip().lower()
    return BY_MEDIA_TYPE.get(plain_type, "")


def media_type_of(filename: str, media_type: str = "") -> str:
    """The media type Folio gives a file."""
    suffix = suffix_of(filename, media_type)
    return PARSERS[suffix][2] if suffix else mimetypes.guess_type(filename)[0] or "application/octet-stream"


def is_supported(filename: str) -> bool:
    """Whether a file of this name would be parsed."""
    return bool(suffix_of(filename))


def _storable(parsed: Parsed) -> Parsed:
    """The text without what no database takes: halves of surrogate pairs, and NUL. Its length does not change."""
    return replace(parsed, text=UNSTORABLE.sub("\ufffd", parsed.text), title=UNSTORABLE.sub("\ufffd", parsed.title))


def parse(path: Path, filename: str, media_type: str = "") -> Parsed:
    """The text of a file.

    Raises:
        IngestError: with the reason code that fits; `unsupported` names the file's kind.
    """
    suffix = suffix_of(filename, media_type)
    if not suffix:
        kind = filename.rsplit(".", 1)[-1] if "." in filename else "a file without a suffix"
        raise IngestError(reasons.UNSUPPORTED, f"Folio can't read this kind of file ({kind}).")
    module, function, _ = PARSERS[suffix]
    parser: Callable[[Path, str], Parsed] = getattr(importlib.import_module(f"ingest.parsers.{module}"), function)
    parsed = _storable(parser(path, filename))
    if not parsed.embedded and not parsed.unread_pages and not re.search(r"\w", parsed.text):
        raise IngestError(reasons.NO_TEXT, "The file holds no text.")
    return parsed
