"""HTML through trafilatura: the main content, not the menu; headings, lists and tables kept, as Markdown."""

import re
from pathlib import Path

import trafilatura
from lxml import etree, html
from markdownify import markdownify

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed
from ingest.parsers.plain import decode

DECLARED = re.compile(rb"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.IGNORECASE)
MANY_NEWLINES = re.compile(r"\n{3,}")
NOT_CONTENT = ("script", "style", "noscript", "template", "nav", "footer", "aside", "form", "iframe", "svg")
MIN_SHARE = 0.25  # main content that is less of the page's text than this was probably not found
SHORT_CHARS = 1500  # a page with less text than this has no menu worth removing


def parse_html(path: Path, filename: str) -> Parsed:
    """The main content of a page.

    Raises:
        IngestError: `no_text` for a page without any.
    """
    data = path.read_bytes()
    declared = DECLARED.search(data[:4096])
    return html_to_parsed(decode(data, declared.group(1).decode("ascii") if declared else ""))


def html_to_parsed(source: str) -> Parsed:
    """The main content of HTML text, as Markdown."""
    try:
        tree = html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", source))
    except (etree.ParserError, ValueError) as exc:
        raise IngestError(reasons.NO_TEXT, "The page holds no text.") from exc
    title = " ".join((tree.findtext(".//title") or "").split())
    main = trafilatura.extract(
        source, output_format="markdown", include_tables=True, include_links=False, include_comments=True,
        include_formatting=False, favor_recall=True, with_metadata=False,
    )  # fmt: skip
    whole = _body_markdown(tree)
    text = main if main and len(whole) > SHORT_CHARS and len(main) >= MIN_SHARE * len(whole) else whole
    if not text.strip():
        raise IngestError(reasons.NO_TEXT, "The page holds no text.")
    return Parsed(text=text, title=title, has_headings=True)


def to_markdown(source: str) -> str:
    """HTML that is all content, as Markdown without links and images."""
    markdown = markdownify(
        source, heading_style="ATX", strip=["a", "img"], escape_asterisks=False, escape_underscores=False
    )
    return MANY_NEWLINES.sub("\n\n", markdown).strip()


def _body_markdown(tree: html.HtmlElement) -> str:
    for element in list(tree.iter(*NOT_CONTENT)):
        element.drop_tree()
    body = tree.find("body")
    return to_markdown(html.tostring(body if body is not None else tree, encoding="unicode"))
