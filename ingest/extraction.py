"""From a file to its text: parsed in a child process, and pages without a usable text layer recognised in another."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from folio.errors import IngestError
from folio.settings import Settings
from ingest import ocr, reasons
from ingest.parsed import Parsed, join_pages
from ingest.parser_children import ParserChildren
from ingest.sandbox import parse_in_child, recognise_in_child

OCR_MEMORY_MIB = 2048  # models and pictures of a page take about 1 GiB


def extract(
    path: Path,
    name: str,
    media_type: str,
    settings: Settings,
    on_page: Callable[[], None],
    children: ParserChildren | None = None,
) -> Parsed:
    """The text of a file, as whole as this installation can make it.

    Pages that were recognised are named in the result's `meta` as `ocr_pages`; those that show something but gave no
    text as `pages_without_text`.

    Args:
        on_page: called before pages are recognised and after each; what it raises ends the work.
        children: processes that are used again for file after file; none for a process of its own.

    Raises:
        IngestError: with the reason code that fits; `no_text` says how to get at the text of a scan.
    """
    parse = parse_in_child if children is None else children.parse
    parsed = parse(path, name, media_type, timeout_s=settings.parse_timeout_s, memory_mib=settings.parse_memory_mib)
    if not parsed.unread_pages:
        return parsed
    recognised: dict[int, str] = {}
    if ocr.may_recognise(settings):
        on_page()
        texts = recognise_in_child(
            path,
            parsed.unread_pages,
            page_timeout_s=settings.ocr_page_timeout_s,
            memory_mib=max(OCR_MEMORY_MIB, settings.parse_memory_mib),
        )
        with closing(texts):
            for number, text in zip(parsed.unread_pages, texts, strict=True):
                recognised |= {number: text} if text else {}
                on_page()
    whole = _with_recognised(parsed, recognised)
    if not whole.text.strip() and not whole.embedded:
        raise IngestError(reasons.NO_TEXT, f"No page has readable text (a scan?). {_what_to_do(settings)}")
    return whole


def _with_recognised(parsed: Parsed, recognised: dict[int, str]) -> Parsed:
    layers = [parsed.text[start:end] for start, end in parsed.pages]
    text, pages = join_pages([recognised.get(number, layer) for number, layer in enumerate(layers, start=1)])
    still = [number for number in parsed.unread_pages if number not in recognised]
    said = {"ocr_pages": page_ranges(list(recognised)), "pages_without_text": page_ranges(still)}
    meta = {**parsed.meta, **{key: value for key, value in said.items() if value}}
    return replace(parsed, text=text, pages=pages, meta=meta)


def page_ranges(numbers: Sequence[int]) -> str:
    """Ascending page numbers as people write them: `1-3, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _what_to_do(settings: Settings) -> str:
    if settings.ocr == "off":
        return "Text recognition is switched off (FOLIO_OCR)."
    if not ocr.is_installed():
        return "Install text recognition, the extra folio[ocr], and try the file again."
    return "Text recognition found none either."
