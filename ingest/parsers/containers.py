"""EPUB books and Outlook messages: containers of HTML and text."""

import posixpath
import zipfile
from pathlib import Path

from lxml import etree
from oxmsg import Message as OutlookMessage

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Embedded, Parsed, bounded
from ingest.parsers.web_page import html_to_parsed, to_markdown

OPF = "{http://www.idpf.org/2007/opf}"
DC = "{http://purl.org/dc/elements/1.1/}"
SAFE_XML = etree.XMLParser(resolve_entities=False, no_network=True)


def parse_epub(path: Path, filename: str) -> Parsed:
    """A book: its chapters in reading order."""
    try:
        with zipfile.ZipFile(path) as book:
            root = etree.fromstring(book.read("META-INF/container.xml"), SAFE_XML)
            package_path = str(root.xpath("string(//*[local-name()='rootfile']/@full-path)"))
            package = etree.fromstring(book.read(package_path), SAFE_XML)
            base = posixpath.dirname(package_path)
            files = {item.get("id"): item.get("href", "") for item in package.iter(f"{OPF}item")}
            spine = [files[item.get("idref")] for item in package.iter(f"{OPF}itemref") if item.get("idref") in files]
            chapters = [book.read(posixpath.normpath(posixpath.join(base, href))).decode("utf-8") for href in spine]
    except (KeyError, AttributeError, etree.XMLSyntaxError, zipfile.BadZipFile, UnicodeDecodeError) as exc:
        raise IngestError(reasons.CORRUPT, "The book is damaged, or is not an EPUB.") from exc
    text = "\n\n".join(part for chapter in chapters if (part := to_markdown(_body(chapter))))
    return Parsed(text=text, title=(package.findtext(f".//{DC}title") or "").strip(), has_headings=True)


def _body(source: str) -> str:
    start, end = source.find("<body"), source.rfind("</body>")
    return source[start:end] if start >= 0 and end > start else source


def parse_msg(path: Path, filename: str) -> Parsed:
    """An Outlook message: sender, subject and text."""
    try:
        message = OutlookMessage.load(str(path))
        head = [f"From: {message.sender or ''}", f"Subject: {message.subject or ''}"]
        text = message.body or (html_to_parsed(message.html_body).text if message.html_body else "")
        attached = tuple(
            Embedded(attachment.file_name or "attachment", attachment.file_bytes)
            for attachment in message.attachments
            if attachment.file_bytes
        )
    except (ValueError, KeyError, OSError) as exc:
        raise IngestError(reasons.CORRUPT, "The Outlook message is damaged.") from exc
    return Parsed(
        text="\n\n".join(["\n".join(head), text.strip()]), title=message.subject or "", embedded=bounded(attached)
    )
