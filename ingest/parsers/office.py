"""OpenDocument text through odfdo, rich text through striprtf, and what all Office packages share."""

import re
import zipfile
from pathlib import Path

from odfdo import Document as OdfDocument
from striprtf.striprtf import rtf_to_text

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed

OLE_MAGIC = b"\xd0\xcf\x11\xe0"  # an Office file with a password is an OLE container around the ZIP
# striprtf drops these groups; as plain groups their text is kept.
RTF_ASIDES = re.compile(r"\\(?:footnote|header[lrf]?|footer[lrf]?|shptxt)(?![a-z])")
RTF_SHAPE = re.compile(r"\{\\shp\s*\{\\\*\\shpinst")
RTF_SHAPE_PROPERTY = re.compile(r"\{\\sp\s*\{\\sn [^{}]*\}\s*\{\\sv [^{}]*\}\s*\}")


def parse_odf_text(path: Path, filename: str) -> Parsed:
    """An OpenDocument text or presentation, as plain text."""
    require_zip(path, "OpenDocument file")
    try:
        document = OdfDocument(path)
        text = document.to_markdown() if document.get_type() == "text" else document.get_formatted_text()
        return Parsed(text=str(text), has_headings=True)
    except (KeyError, ValueError, zipfile.BadZipFile) as exc:
        raise IngestError(reasons.CORRUPT, "The OpenDocument file is damaged.") from exc


def parse_rtf(path: Path, filename: str) -> Parsed:
    """Rich text as plain text, with its notes, headers, footers and text boxes."""
    data = path.read_bytes()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise IngestError(reasons.CORRUPT, "The file is not rich text.")
    source = RTF_SHAPE_PROPERTY.sub("", data.decode("latin-1"))
    source = RTF_ASIDES.sub(r"\\par ", RTF_SHAPE.sub(r"{{\\par ", source))
    text = rtf_to_text(source, encoding="cp1252", errors="replace").replace("\r\n", "\n").strip()
    # Rich text writes characters beyond the first plane as two halves.
    return Parsed(text=text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def require_zip(path: Path, what: str) -> None:
    """Check that an Office file is an open ZIP package.

    Raises:
        IngestError: `encrypted` for one with a password, `corrupt` for anything else.
    """
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic == OLE_MAGIC:
        raise IngestError(
            reasons.ENCRYPTED, f"The {what} is protected by a password. Remove it and add the file again."
        )
    if not zipfile.is_zipfile(path):
        raise IngestError(reasons.CORRUPT, f"The {what} is damaged, or is not one.")
