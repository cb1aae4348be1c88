"""How files are read and cut into chunks, as a fingerprint: an unchanged file is read again when this has changed."""

import hashlib
import json

from folio.settings import Settings
from ingest.ocr import may_recognise

VERSION = 4  # raise it when parsers or the chunker give another text or other chunks for the same bytes


def reading_fingerprint(settings: Settings) -> str:
    """16 hexadecimal digits over everything but the bytes that decides a document's text and chunks."""
    said = [VERSION, may_recognise(settings), settings.chunk_tokens, settings.chunk_overlap_tokens]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]
