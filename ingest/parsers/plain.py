"""Plain text, Markdown, source code and JSON: the text as it is, once its encoding is known for sure."""

import codecs
import json
import re
from pathlib import Path

from charset_normalizer import CharsetMatch, from_bytes

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SAME_CHAOS = 0.005  # guesses this close in how garbled their text looks are told apart by the language they give
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
    for encoding in ("utf-8", declared):
        if encoding and not (encoding == "utf-8" and b"\x00" in data):
            try:
                return data.decode(encoding)
            except (UnicodeDecodeError, LookupError):
                continue
    best = _best_guess(data)
    if best is None:
        raise IngestError(reasons.ENCODING, "The character encoding can't be told. Save the file as UTF-8.")
    if b"\x00" in data and not best.encoding.startswith(("utf_16", "utf_32")):
        raise IngestError(reasons.UNSUPPORTED, "The file is not text.")
    return str(best)


def _best_guess(data: bytes) -> CharsetMatch | None:
    """The least garbled reading; among equals the one that reads most like a language, Windows-1252 at a tie."""
    matches = list(from_bytes(data))
    if not matches:
        return None
    close = [match for match in matches if match.chaos <= matches[0].chaos + SAME_CHAOS]
    return max(close, key=lambda match: (match.coherence, match.encoding == "cp1252"))
