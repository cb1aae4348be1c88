"""Whether the text layer of a PDF page can be trusted: it may be missing, garbled, or only a stamp on a scan."""

import unicodedata
from enum import Enum

import pypdfium2
import pypdfium2.raw as pdfium_c

MAX_GARBLED = 0.3  # share of characters without a meaning from which a page's text layer is not to be trusted
SAMPLED_CHARS = 500  # characters of a page that are asked for their mapping; each is a call into PDFium
THIN_CHARS = 100  # a page with less text than this under a large image is a scan with a stamp or a page number
LARGE_IMAGE = 0.6  # share of the page
BLANK_SCALE = 0.5  # pages are looked at in 36 dpi to tell whether anything is drawn on them
MEANINGLESS = {"Co", "Cn", "Cc", "Cs"}  # private use, unassigned, control, half of a pair


class TextLayer(Enum):
    """What a page's text layer is worth: `MISSING` under something drawn, `THIN` over a scan, `GARBLED`, or `GOOD`."""

    GOOD = "good"
    MISSING = "missing"
    THIN = "thin"
    GARBLED = "garbled"


def text_layer(page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage, text: str) -> TextLayer:
    """How far the text layer says what a reader sees on the page.

    Args:
        text: the page's text as it would be kept.
    """
    visible = [char for char in text if not char.isspace()]
    if not visible:
        return TextLayer.GOOD if _is_blank(page) else TextLayer.MISSING
    if max(_meaningless(visible), _unmapped(text_page)) >= MAX_GARBLED:
        return TextLayer.GARBLED
    if len(visible) < THIN_CHARS and _largest_image(page) >= LARGE_IMAGE:
        return TextLayer.THIN
    return TextLayer.GOOD


def _meaningless(visible: list[str]) -> float:
    return sum(char == "\ufffd" or unicodedata.category(char) in MEANINGLESS for char in visible) / len(visible)


def _unmapped(text_page: pypdfium2.PdfTextPage) -> float:
    """Share of characters that the font gives no Unicode for; PDFium then passes on the font's own codes."""
    count = text_page.count_chars()
    sampled = range(0, count, max(1, count // SAMPLED_CHARS))
    wrong: int = sum(pdfium_c.FPDFText_HasUnicodeMapError(text_page, index) == 1 for index in sampled)
    return wrong / max(1, len(sampled))


def _largest_image(page: pypdfium2.PdfPage) -> float:
    width, height = page.get_size()
    areas = [0.0]
    for image in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE], max_depth=2):
        left, bottom, right, top = image.get_bounds()
        areas.append((right - left) * (top - bottom) / max(1.0, width * height))
    return max(areas)


def _is_blank(page: pypdfium2.PdfPage) -> bool:
    low, high = page.render(scale=BLANK_SCALE, grayscale=True).to_pil().getextrema()
    return bool(low == high)
