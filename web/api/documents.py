"""`/api/v1/documents`: what is in a collection: list, show, text, chunks, original file, delete with a receipt."""

import hashlib
from typing import Literal

from flask import Response, request, send_file
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, Field

from folio.errors import InvalidRequest, NotFound
from ingest.boxes import Box
from ingest.documents import ChunkView, DeletionReceipt, DocumentPage, DocumentText, DocumentView
from web.access import needs
from web.api.common import Id, Name, PageQuery, Text, problems
from web.api.described import binary, json_of, json_or_text, plain_text
from web.api.names import clean_name
from web.context import caller, services, visible
from web.errors import NotAcceptedByHttp
from web.replies import reply

documents_api = APIBlueprint("documents", __name__, url_prefix="/api/v1/documents", abp_tags=[Tag(name="Documents")])

# Only these are shown by a browser itself. Anything else, HTML and SVG above all, could run as a page of this site.
SHOWN_INLINE = ("application/pdf", "text/plain", "image/png", "image/jpeg", "image/webp", "image/gif")
FILE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class DocumentPath(BaseModel):
    """A document's id."""

    document_id: Id


class DocumentsQuery(PageQuery):
    """Which documents."""

    collection: Name = "default"
    query: Text = Field("", max_length=500, description="Words in the title or address.")


class BoxesQuery(BaseModel):
    """A span of the document's text on one page."""

    page: int = Field(ge=1)
    start: int = Field(ge=0, description="First character, in the canonical text.")
    end: int = Field(ge=0, description="Character after the last.")


class ChunksQuery(BaseModel):
    """Which chunks."""

    limit: int = Field(1000, ge=1, le=1000, description="Most chunks in the reply.")
    cursor: str = Field("", pattern="^[0-9]{0,9}$", description="`next_cursor` of the page before.")


class ChunkPage(BaseModel):
    """A document's chunks, in reading order."""

    items: list[ChunkView]
    next_cursor: str | None


class BoxList(BaseModel):
    """Rectangles as fractions of the page."""

    boxes: list[Box]


class TextQuery(BaseModel):
    """How to send the text."""

    format: Literal["json", "plain"] = Field("json", description="`plain` sends the bare text and honours ranges.")


@documents_api.get("", responses={200: json_of(DocumentPage), **problems()})
@needs("ask")
def list_documents(query: DocumentsQuery) -> Response:
    """List documents, page by page."""
    visible(query.collection)
    if query.cursor:
        _check_cursor(query.cursor, query.collection)
    page = services().documents.list(
        query.collection, query=query.query, limit=query.limit, cursor=query.cursor or None
    )
    return reply(page)


@documents_api.get("/<document_id>", responses={200: json_of(DocumentView), 304: None, **problems()})
@needs("ask")
def get_document(path: DocumentPath) -> Response:
    """Show a document. The ETag changes whenever anything in this reply does."""
    document = own_document(path.document_id)
    return reply(document, etag=version_tag(document))


@documents_api.get(
    "/<document_id>/text", responses={200: json_or_text(DocumentText), 206: plain_text(), 304: None, **problems(416)}
)
@needs("ask")
def get_text(path: DocumentPath, query: TextQuery) -> Response:
    """The canonical text, exactly as extracted; every `start` and `end` counts its characters."""
    document = own_document(path.document_id)
    text = services().documents.text(document.id)
    if query.format == "json":
        return reply(text, etag=version_tag(document))
    response = Response(text.text, mimetype="text/plain")
    response.set_etag(version_tag(document))
    response.make_conditional(request, accept_ranges=True, complete_length=response.content_length)
    return response


@documents_api.get("/<document_id>/chunks", responses={200: json_of(ChunkPage), 304: None, **problems()})
@needs("ask")
def get_chunks(path: DocumentPath, query: ChunksQuery) -> Response:
    """The chunks that searches see, in reading order, page by page."""
    document = own_document(path.document_id)
    begin = int(query.cursor or 0)
    end = begin + query.limit
    chunks = services().documents.chunks(document.id)
    page = ChunkPage(items=chunks[begin:end], next_cursor=str(end) if end < len(chunks) else None)
    return reply(page, etag=f"{version_tag(document)}-{begin}-{query.limit}")


@documents_api.get("/<document_id>/boxes", responses={200: json_of(BoxList), **problems()})
@needs("ask")
def get_boxes(path: DocumentPath, query: BoxesQuery) -> Response:
    """Where a span of a PDF's text lies on its page: rectangles as fractions of the page, for highlighting."""
    document = own_document(path.document_id)
    return reply(BoxList(boxes=services().documents.page_boxes(document.id, query.page, query.start, query.end)))


@documents_api.get(
    "/<document_id>/file",
    responses={200: binary(), 206: binary(), 304: None, **problems(416)},
)
@needs("ask")
def get_file(path: DocumentPath) -> Response:
    """The original file, byte for byte; ranges are honoured."""
    document = own_document(path.document_id)
    location, media_type, filename = services().documents.file(document.id)
    response = send_file(
        location,
        mimetype=media_type,
        as_attachment=media_type not in SHOWN_INLINE,
        download_name=clean_name(filename),
        conditional=True,
        etag=document.sha256,
        max_age=0,
    )
    if media_type != "application/pdf":  # Chromium's own PDF viewer does not work in a sandbox; PDFs can't script us
        response.headers["Content-Security-Policy"] = FILE_POLICY
    return response


@documents_api.delete("/<document_id>", responses={200: json_of(DeletionReceipt), **problems(412)})
@needs("ingest")
def delete_document(path: DocumentPath) -> Response:
    """Delete a document; the receipt says that neither index nor catalog returns it any more.

    With `If-Match`, only the version with that ETag is deleted; a newer one is kept and answered with 412.
    """
    document = own_document(path.document_id)
    if request.if_match and not request.if_match.contains(version_tag(document)):
        raise NotAcceptedByHttp(412)
    receipt = services().documents.delete(document.id)
    if caller().collections is not None:  # that another collection holds the same bytes is not for this key to know
        receipt = receipt.model_copy(update={"file_shared": False})
    return reply(receipt)


def _check_cursor(document_id: str, collection: str) -> None:
    """Pages go on from a document of the list itself, never from one that the caller may not know of.

    Raises:
        InvalidRequest: the cursor is none of this collection's documents.
    """
    try:
        known = own_document(document_id).collection == collection
    except NotFound:
        known = False
    if not known:
        raise InvalidRequest("The cursor is not one that this list gave. Begin again without it.")


def own_document(document_id: str) -> DocumentView:
    """A document that the caller may see.

    Raises:
        NotFound: the same for one that is not there and one in a collection that is not the caller's.
    """
    missing = NotFound(f"There is no document {document_id!r}.")
    try:
        document = services().documents.get(document_id)
    except NotFound as exc:
        raise missing from exc
    if not caller().sees(document.collection):
        raise missing
    return document


def version_tag(document: DocumentView) -> str:
    """The ETag of a document and of everything derived from it: another whenever anything that a reader sees of it is.

    A version is not enough: the address that is shown, tags and counts may change while the text stays.
    """
    seen = hashlib.sha256(document.model_dump_json().encode()).hexdigest()
    return f"{document.id}-{document.version}-{seen[:16]}"
