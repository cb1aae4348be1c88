"""EPUB books and e-mail: containers of HTML and text, read through the standard library."""

import email
import email.policy
import posixpath
import zipfile
from email.message import EmailMessage, MIMEPart
from pathlib import Path

from lxml import etree
from oxmsg import Message as OutlookMessage

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Parsed
from ingest.parsers.web_page import html_to_parsed, to_markdown

OPF = "{http://www.idpf.org/2007/opf}"
DC = "{http://purl.org/dc/elements/1.1/}"
CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
SAFE_XML = etree.XMLParser(resolve_entities=False, no_network=True)
HEADERS = ("From", "To", "Cc", "Date", "Subject")


def parse_epub(path: Path, filename: str) -> Parsed:
    """A book: its chapters in reading order."""
    try:
        with zipfile.ZipFile(path) as book:
            root = etree.fromstring(book.read("META-INF/container.xml"), SAFE_XML)
            package_path = root.find(f".//{CONTAINER}rootfile").get("full-path")
            package = etree.fromstring(book.read(package_path), SAFE_XML)
            base = posixpath.dirname(package_path)
            files = {item.get("id"): item.get("href") for item in package.iter(f"{OPF}item")}
            spine = [files[item.get("idref")] for item in package.iter(f"{OPF}itemref") if item.get("idref") in files]
            chapters = [book.read(posixpath.normpath(posixpath.join(base, href))).decode("utf-8") for href in spine]
    except (KeyError, AttributeError, etree.XMLSyntaxError, zipfile.BadZipFile, UnicodeDecodeError) as exc:
        raise IngestError(reasons.CORRUPT, "The book is damaged, or is not an EPUB.") from exc
    text = "\n\n".join(part for chapter in chapters if (part := to_markdown(_body(chapter))))
    return Parsed(text=text, title=(package.findtext(f".//{DC}title") or "").strip(), has_headings=True)


def _body(source: str) -> str:
    start, end = source.find("<body"), source.rfind("</body>")
    return source[start:end] if start >= 0 and end > start else source


def parse_eml(path: Path, filename: str) -> Parsed:
    """An e-mail: its main headers and its text; the names of attachments are listed."""
    message = email.message_from_bytes(path.read_bytes(), _class=EmailMessage, policy=email.policy.default)
    if not any(message.get(name) for name in HEADERS):
        raise IngestError(reasons.CORRUPT, "The file is not an e-mail: it has no headers.")
    head = [f"{name}: {message[name]}" for name in HEADERS if message.get(name)]
    body = message.get_body(preferencelist=("plain", "html"))
    text = _body_text(body) if body is not None else ""
    names = [part.get_filename() or "unnamed" for part in message.iter_attachments()]
    foot = [f"Attachments: {', '.join(names)}"] if names else []
    return Parsed(text="\n\n".join(["\n".join(head), text.strip(), *foot]).strip(), title=str(message["Subject"] or ""))


def _body_text(body: MIMEPart) -> str:
    try:
        content = body.get_content()
    except (LookupError, UnicodeDecodeError) as exc:
        raise IngestError(reasons.ENCODING, "The e-mail's character encoding is not known.") from exc
    text = content if isinstance(content, str) else ""
    return html_to_parsed(text).text if body.get_content_subtype() == "html" and text.strip() else text


def parse_msg(path: Path, filename: str) -> Parsed:
    """An Outlook message: sender, subject and text."""
    try:
        message = OutlookMessage.load(str(path))
        head = [f"From: {message.sender or ''}", f"Subject: {message.subject or ''}"]
        text = message.body or (html_to_parsed(message.html_body).text if message.html_body else "")
    except (ValueError, KeyError, OSError) as exc:
        raise IngestError(reasons.CORRUPT, "The Outlook message is damaged.") from exc
    return Parsed(text="\n\n".join(["\n".join(head), text.strip()]), title=message.subject or "")
