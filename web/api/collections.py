"""`/api/v1/collections`: create, list, show, delete."""

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, Field

from folio.errors import Forbidden
from retrieval.collections import CollectionInfo, DeletedCollection
from web.access import needs
from web.api.common import Body, Name, NewName, Text, problems
from web.api.described import json_of
from web.context import caller, services, state, visible
from web.replies import reply

collections_api = APIBlueprint(
    "collections", __name__, url_prefix="/api/v1/collections", abp_tags=[Tag(name="Collections")]
)


class CollectionBody(Body):
    """A collection to create."""

    name: NewName
    description: Text = Field("", max_length=2000)


class CollectionList(BaseModel):
    """The collections that the caller may use, by name."""

    items: list[CollectionInfo]


class CollectionPath(BaseModel):
    """A collection's name."""

    name: Name


@collections_api.get("", responses={200: json_of(CollectionList), **problems()})
@needs("ask")
def list_collections() -> Response:
    """List the collections that the caller may use."""
    return reply(CollectionList(items=[info for info in services().collections.list() if caller().sees(info.name)]))


@collections_api.post("", responses={201: json_of(CollectionInfo), **problems(409, 413, 415)})
@needs("ingest")
def create_collection(body: CollectionBody) -> Response:
    """Create a collection."""
    if not caller().sees(body.name):
        raise Forbidden("This key is limited to its own collections and can't create others.")
    created = services().collections.create(body.name, description=body.description)
    state().audit.record(caller().key_id, "collection.create", body.name)
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
    state().audit.record(caller().key_id, "collection.delete", path.name)
    return reply(deleted)
