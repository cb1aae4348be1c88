"""`/api/v1/collections`: create, list, show, delete."""

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, ConfigDict, Field

from folio.errors import Forbidden
from retrieval.collections import CollectionInfo, DeletedCollection
from web.access import needs
from web.api.common import Body, Name, NewName, PageQuery, Text, problems
from web.api.described import json_of
from web.context import caller, services, visible
from web.replies import reply

collections_api = APIBlueprint(
    "collections", __name__, url_prefix="/api/v1/collections", abp_tags=[Tag(name="Collections")]
)


class CollectionBody(Body):
    """A collection to create."""

    model_config = ConfigDict(json_schema_extra={"example": {"name": "harbour", "description": "Letters of the port"}})

    name: NewName
    description: Text = Field("", max_length=2000)


class CollectionPage(BaseModel):
    """Collections that the caller may use, by name."""

    items: list[CollectionInfo]
    next_cursor: str | None


class CollectionPath(BaseModel):
    """A collection's name."""

    name: Name


@collections_api.get("", responses={200: json_of(CollectionPage), **problems()})
@needs("ask")
def list_collections(query: PageQuery) -> Response:
    """List the collections that the caller may use, by name, page by page."""
    items = services().collections.list(limit=query.limit, after=query.cursor, among=caller().collections)
    cursor = items[-1].name if len(items) == query.limit else None
    return reply(CollectionPage(items=items, next_cursor=cursor))


@collections_api.post("", responses={201: json_of(CollectionInfo), **problems(409, 413, 415)})
@needs("ingest")
def create_collection(body: CollectionBody) -> Response:
    """Create a collection."""
    if not caller().sees(body.name):
        raise Forbidden("This key is limited to its own collections and can't create others.")
    created = services().collections.create(body.name, description=body.description)
    return reply(created, 201, headers={"Location": f"/api/v1/collections/{created.name}"})


@collections_api.get("/<name>", responses={200: json_of(CollectionInfo), **problems()})
@needs("ask")
def get_collection(path: CollectionPath) -> Response:
    """Show a collection with its counts."""
    return reply(services().collections.get(visible(path.name)))


@collections_api.delete("/<name>", responses={200: json_of(DeletedCollection), **problems()})
@needs("admin")
def delete_collection(path: CollectionPath) -> Response:
    """Delete a collection with all its documents, jobs, conversations and answers."""
    deleted = services().collections.delete(visible(path.name))
    return reply(deleted)
