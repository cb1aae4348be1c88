"""Plain text, Markdown, source code and JSON: the text as it is, once its encoding is known for sure."""

import codecs
import json
import re
from pathlib import Path

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed
from ingest.parsers.encodings import fits_declaration, is_wide, looks_wide, unmarked_utf, wide_reading
from ingest.parsers.narrow_encodings import fits_words, narrow_reading

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LATIN_1 = ("latin-1", "latin1", "iso-8859-1", "iso8859-1", "ascii", "us-ascii")
DECLARED = re.compile(
    rb"""(?:<\?xml[^>]{0,80}encoding|charset|^#[^\n]{0,20}coding)\s*[=:]\s*["']?\s*([\w:.-]+)""", re.IGNORECASE
)
CONTROL_SHARE = 0.05  # more control characters than this, and the file is not text
FIRST_HEADING = re.compile(r"^#{1,2}\s+(.+?)\s*#*$", re.MULTILINE)


def parse_text(path: Path, filename: str) -> Parsed:
    """A text file as it is."""
    return Parsed(text=decode(path.read_bytes()))


def parse_markdown(path: Path, filename: str) -> Parsed:
    """Markdown, kept as written; its first heading is the title."""
    text = decode(path.read_bytes())
    heading = FIRST_HEADING.search(text)
    return Parsed(text=text, title=heading.group(1) if heading else "", has_headings=True)


def parse_json(path: Path, filename: str) -> Parsed:
    """JSON or JSON lines, indented so that neighbouring facts stay together."""
    text = decode(path.read_bytes())
    try:
        return Parsed(text=json.dumps(json.loads(text), ensure_ascii=False, indent=1))
    except ValueError:
        pass
    try:
        lines = [json.dumps(json.loads(line), ensure_ascii=False) for line in text.splitlines() if line.strip()]
    except ValueError as exc:
        raise IngestError(reasons.CORRUPT, "The file is neither JSON nor JSON lines.") from exc
    return Parsed(text="\n\n".join(lines))


def decode(data: bytes, declared: str = "") -> str:
    """The text of `data`, with newlines as `\\n`; a wrong guess is worse than a refusal.

    Args:
        data: the bytes of a text file.
        declared: an encoding that the file itself names; used only if it decodes and gives plausible text.

    Raises:
        IngestError: `encoding` when no encoding fits surely, `unsupported` when it is no text at all.
    """
    text = _decode(data, declared)
    control = sum(1 for char in text if ord(char) < 32 and char not in "\n\r\t\f\v")
    if control > CONTROL_SHARE * max(len(text), 20):
        raise IngestError(reasons.UNSUPPORTED, "The file is not text.")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").removeprefix("\ufeff")


def _decode(data: bytes, declared: str) -> str:
    for bom, encoding in BOMS:
        if data.startswith(bom):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError as exc:
                raise IngestError(reasons.ENCODING, f"The file says it is {encoding} but is not.") from exc
    if b"\x00" in data:
        text = unmarked_utf(data)
        if text is None:
            raise IngestError(reasons.UNSUPPORTED, "The file is not text.")
        return text
    if data.isascii() and b"\x1b$" in data:
        return _escaped(data)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    declared = declared or _declared(data)
    text = (
        fits_declaration(data, declared)
        or unmarked_utf(data)
        or wide_reading(data)
        or (None if looks_wide(data) else _as_declared(data, declared) or narrow_reading(data))
    )
    if text is None:
        raise IngestError(reasons.ENCODING, "The character encoding can't be told. Save the file as UTF-8.")
    return text


def _declared(data: bytes) -> str:
    found = DECLARED.search(data[:1024])
    return found.group(1).decode("ascii") if found else ""


def _as_declared(data: bytes, declared: str) -> str | None:
    """The text in a declared encoding of one byte a character; the web's `latin-1` is Windows-1252."""
    name = "cp1252" if declared.lower().replace("_", "-") in LATIN_1 else declared
    try:
        text = "" if not name or is_wide(name) else data.decode(name)
    except (UnicodeDecodeError, LookupError):
        return None
    return text if text and fits_words(text) else None


def _escaped(data: bytes) -> str:
    """Japanese and Korean mail of old: ASCII bytes, with escapes that change their meaning."""
    for encoding in ("iso2022_jp_2", "iso2022_kr"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("ascii")
