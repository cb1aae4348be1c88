"""`POST /api/v1/documents`: files, a URL, or a text come in and become a job for the ingest worker."""

import io
import json
from typing import Any, BinaryIO, cast

from flask import Response, abort, request
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from werkzeug.datastructures import FileStorage

from folio.errors import Forbidden, InvalidRequest
from ingest.parsers.registry import media_type_of
from ingest.service import IncomingFile, JobView
from ingest.site import LARGEST_SITE, MAX_DEPTH, MAX_PAGES, Site
from web.access import needs
from web.api.common import Body, Name, NewName, Text, problems
from web.api.described import body_of
from web.api.documents import documents_api
from web.api.names import clean_name
from web.context import caller, services
from web.errors import NotAcceptedByHttp, validation_response
from web.replies import reply


class Destination(Body):
    """Where the documents go and what is said of them."""

    collection: NewName = "default"
    tags: list[Name] = Field(default_factory=list, max_length=100)
    meta: dict[str, Text] = Field(default_factory=dict, max_length=50, description="Own facts, for filters.")


class SiteMap(Body):
    """The pages that a site's map names."""

    max_pages: int = Field(MAX_PAGES, ge=1, le=LARGEST_SITE)


class Crawl(SiteMap):
    """A page and the pages of its site that it links to, `depth` links deep."""

    depth: int = Field(1, ge=0, le=MAX_DEPTH)


class FromUrl(Destination):
    """A page or file to fetch; with `crawl` or `sitemap` (one of them), further pages of its site."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"url": "https://example.org/guide.html", "tags": ["guide"]}}
    )

    url: str = Field(max_length=2000, pattern=r"^https?://[^\x00]+$")
    crawl: Crawl | None = None
    sitemap: SiteMap | None = None

    @property
    def address(self) -> str:
        """What ingestion takes: the address, or a site's.

        Raises:
            InvalidRequest: both ways through a site are asked for.
        """
        if self.crawl and self.sitemap:
            raise InvalidRequest("Send `crawl` or `sitemap`, not both.")
        if self.crawl:
            return Site(self.url, self.crawl.depth, self.crawl.max_pages).uri
        return Site(self.url, None, self.sitemap.max_pages).uri if self.sitemap else self.url


class FromText(Destination):
    """A text to take as it is."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"title": "Lamp log", "text": "The lamp was lit at 18:40.", "tags": ["log"]}}
    )

    text: Text = Field(min_length=1)
    title: Name


class JobAccepted(BaseModel):
    """The job that does the work; follow `GET /api/v1/jobs/{job_id}`."""

    job_id: str


FORM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["files"],
    "properties": {
        "files": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "format": "binary"},
            "description": "Repeat for each.",
        },
        "collection": {**TypeAdapter(NewName).json_schema(), "default": "default"},
        "tags": {"type": "array", "maxItems": 100, "items": TypeAdapter(Name).json_schema()},
        "meta": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": 'A JSON object of strings, as `{"author": "Li"}`.',
        },
    },
}
REQUEST_BODY = {
    "required": True,
    "content": {
        "multipart/form-data": {"schema": FORM_SCHEMA},
        "application/json": {"schema": {"anyOf": [body_of(FromUrl), body_of(FromText)]}},
    },
}


@documents_api.post(
    "", openapi_extensions={"requestBody": REQUEST_BODY}, responses={202: JobAccepted, **problems(409, 413, 415)}
)
@needs("ingest")
def add_documents() -> Response:
    """Add documents: files as multipart form data, or JSON with `url`, or with `text` and `title`.

    The reply comes as soon as everything is safely stored; the work is a job. With an `Idempotency-Key` header, a
    repeated request gives the first one's job and does nothing again.
    """
    key = _idempotency_key()
    if request.mimetype == "multipart/form-data":
        job = _from_files(key)
    elif request.is_json:
        job = _from_json(key)
    else:
        raise NotAcceptedByHttp(415, "Send files as multipart/form-data, or JSON with `url` or `text`.")
    return reply(JobAccepted(job_id=job.id), 202, headers={"Location": f"/api/v1/jobs/{job.id}"})


def _from_json(key: str) -> JobView:
    said = request.get_json()
    if not isinstance(said, dict) or not said.keys() & {"url", "text"}:
        raise InvalidRequest("Send a JSON object with `url`, or with `text` and `title`; files as multipart/form-data.")
    model = FromUrl if "url" in said else FromText
    try:
        body = model.model_validate(said)
    except ValidationError as exc:
        abort(validation_response(exc))
    collection = _destination(body.collection)
    common: dict[str, Any] = {
        "tags": body.tags,
        "meta": body.meta,
        "idempotency_key": key,
    }
    if isinstance(body, FromUrl):
        return services().ingestion.submit_url(collection, body.address, **common)
    return services().ingestion.submit_text(collection, body.title, body.text, **common)


def _from_files(key: str) -> JobView:
    meta = _meta(request.form.get("meta", ""))
    fields = {
        "collection": request.form.get("collection", "default"),
        "tags": [tag for tag in request.form.getlist("tags") if tag],
    }
    try:
        destination = Destination.model_validate({**fields, "meta": meta})
    except ValidationError as exc:
        abort(validation_response(exc))
    collection = _destination(destination.collection)
    uploads = [upload for upload in request.files.getlist("files") if upload.filename]
    if not uploads:
        raise InvalidRequest("No file came with the request. Send each as a form field named `files`.")
    files = [_store(upload, destination) for upload in uploads]
    return services().ingestion.submit(collection, files, source="upload", idempotency_key=key)


def _store(upload: FileStorage, destination: Destination) -> IncomingFile:
    name = clean_name(upload.filename or "")
    limit = services().settings.max_file_mib * 2**20
    size = upload.stream.seek(0, io.SEEK_END)
    upload.stream.seek(0)
    if size > limit:
        raise NotAcceptedByHttp(
            413, f"{name} is larger than {limit // 2**20} MiB. Split it or raise FOLIO_MAX_FILE_MIB."
        )
    stored = services().ingestion.store_upload(cast(BinaryIO, upload.stream), filename=name, max_bytes=limit)
    return IncomingFile(
        uri=f"upload:{name}",
        title=name.rsplit("/", 1)[-1],
        media_type=media_type_of(name) or upload.mimetype,
        sha256=stored.sha256,
        size_bytes=stored.size_bytes,
        source_modified_at=None,
        tags=destination.tags,
        meta=destination.meta,
    )


def _destination(collection: str) -> str:
    if not caller().sees(collection):
        raise Forbidden("This key is limited to its own collections and can't add to others.")
    return collection


def _meta(text: str) -> object:
    try:
        return json.loads(text) if text else {}
    except ValueError as exc:
        raise InvalidRequest('`meta` must be a JSON object of strings, as {"author": "Li"}.') from exc


def _idempotency_key() -> str:
    """The client's key, made unique to the caller, so that two callers can't see each other's jobs."""
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > 200:
        raise InvalidRequest("An Idempotency-Key may have at most 200 characters.")
    return f"{caller().key_id}:{key}" if key else ""
