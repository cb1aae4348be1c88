"""`POST /api/v1/search`: ranked passages with the scores of every stage; needs no language model."""

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from pydantic import ConfigDict, Field

from retrieval.passages import SearchResult
from web.access import needs
from web.api.common import Body, FiltersBody, Name, Question, checked_question, problems
from web.api.described import json_of
from web.context import services, visible
from web.replies import reply

search_api = APIBlueprint("search", __name__, url_prefix="/api/v1/search", abp_tags=[Tag(name="Search")])


class SearchBody(Body):
    """A query and where to look."""

    model_config = ConfigDict(json_schema_extra={"example": {"query": "KV cache fragmentation", "top_k": 3}})

    query: Question
    collection: Name = "default"
    top_k: int | None = Field(None, ge=1, le=1000, description="Most passages in the reply.")
    filters: FiltersBody = FiltersBody()
    merge_neighbours: bool = Field(True, description="Join neighbouring chunks of a document into one passage.")


@search_api.post("", responses={200: json_of(SearchResult), **problems(409, 413, 415, 503)})
@needs("ask")
def search(body: SearchBody) -> Response:
    """Search passages."""
    checked_question(body.query)
    visible(body.collection)
    result: SearchResult = services().searcher.search(
        body.query,
        collection=body.collection,
        top_k=body.top_k,
        filters=body.filters.to_filters(),
        merge_neighbours=body.merge_neighbours,
    )
    return reply(result)
