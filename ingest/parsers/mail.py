"""E-mail through the standard library: headers and text; attachments become documents of their own."""

import email
import email.policy
import re
from email.message import EmailMessage
from pathlib import Path

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import Embedded, Parsed, bounded
from ingest.parsers.web_page import html_to_parsed

HEADERS = ("From", "To", "Cc", "Date", "Subject")
ENCRYPTED_TYPES = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
WORD = re.compile(r"\w+")
NEW_SHARE = 0.05  # an HTML part with more words than this that its plain twin lacks is kept too


def parse_eml(path: Path, filename: str) -> Parsed:
    """An e-mail: its main headers, its text, and the files attached to it.

    Raises:
        IngestError: `encrypted`, `encoding` or `corrupt`.
    """
    message = email.message_from_bytes(path.read_bytes(), _class=EmailMessage, policy=email.policy.default)
    if not any(message.get(name) for name in HEADERS):
        raise IngestError(reasons.CORRUPT, "The file is not an e-mail: it has no headers.")
    if any(part.get_content_type() in ENCRYPTED_TYPES for part in message.walk()):
        raise IngestError(reasons.ENCRYPTED, "The e-mail is encrypted. Decrypt it and add it again.")
    head = "\n".join(f"{name}: {message[name]}" for name in HEADERS if message.get(name))
    texts, attached = _parts(message)
    subject = str(message["Subject"] or "")
    return Parsed(text="\n\n".join([head, *texts]).strip(), title=subject, embedded=bounded(attached))


def _parts(message: EmailMessage) -> tuple[list[str], list[Embedded]]:
    """The texts to read, and the attachments, in order."""
    texts: list[str] = []
    attached: list[Embedded] = []
    for part in message.walk():
        if part.is_multipart():
            continue
        name = part.get_filename()
        if name or part.get_content_disposition() == "attachment":
            data = part.get_payload(decode=True)
            if isinstance(data, bytes) and data:
                attached.append(Embedded(name or f"attachment-{len(attached) + 1}", data))
        elif part.get_content_maintype() == "text":
            text = _text(part).strip()
            if text and _is_new(text, texts):
                texts.append(text)
    return texts, attached


def _text(part: EmailMessage) -> str:
    try:
        content = part.get_content()
    except (LookupError, UnicodeDecodeError) as exc:
        raise IngestError(reasons.ENCODING, "The e-mail's character encoding is not known.") from exc
    text = content if isinstance(content, str) else ""
    is_html = part.get_content_subtype() == "html" and bool(text.strip())
    return html_to_parsed(text).text if is_html else text


def _is_new(text: str, known: list[str]) -> bool:
    """Whether `text` says something that the parts before do not, as the HTML twin of a plain part seldom does."""
    words = set(WORD.findall(text.casefold()))
    fresh = words - {word for other in known for word in WORD.findall(other.casefold())}
    return len(fresh) > NEW_SHARE * len(words)
