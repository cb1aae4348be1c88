"""Reads text from pictures of pages with RapidOCR (PP-OCR models, which come in its wheel), the extra `folio[ocr]`."""

import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pypdfium2

from folio.settings import Settings
from ingest.ocr_layout import Piece, text_of
from ingest.parsers.pdf import joined_lines

if TYPE_CHECKING:
    from rapidocr import RapidOCR

DPI = 200  # below it small print is lost; above it only time
MAX_SIDE_PX = 4000  # of a page's picture; posters are drawn smaller
MIN_SCORE = 0.5  # RapidOCR's own default: what it is less sure of is mostly dirt


def is_installed() -> bool:
    """Whether the extra is there."""
    return all(importlib.util.find_spec(name) for name in ("rapidocr", "onnxruntime"))


def may_recognise(settings: Settings) -> bool:
    """Whether pages without text are recognised here."""
    return settings.ocr == "auto" and is_installed()


def recognise(path: Path, pages: Sequence[int]) -> Iterator[str]:
    """The text of each of a PDF's pages (numbers from 1), as it is recognised."""
    engine = _engine()
    document = pypdfium2.PdfDocument(path)
    try:
        for number in pages:
            yield _page_text(engine, document[number - 1])
    finally:
        document.close()


def _engine() -> "RapidOCR":
    from rapidocr import RapidOCR

    threads = max(1, (os.cpu_count() or 1) // 2)
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.text_score": MIN_SCORE,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _page_text(engine: "RapidOCR", page: pypdfium2.PdfPage) -> str:
    scale = min(DPI / 72, MAX_SIDE_PX / max(1.0, *page.get_size()))
    picture = page.render(scale=scale, rev_byteorder=False).to_numpy()
    found: Any = engine(picture)  # its type depends on what was asked for; asked for all, it has boxes and texts
    if found.boxes is None or found.txts is None:
        return ""
    pieces = [
        Piece(text, float(left), float(top), float(right), float(bottom))
        for text, (left, top), (right, bottom) in zip(
            found.txts, found.boxes.min(axis=1), found.boxes.max(axis=1), strict=True
        )
    ]
    return joined_lines(text_of(pieces, picture.shape[1])).strip()
