"""`/v1/chat/completions`, `/v1/embeddings`, `/v1/models`."""

import base64
from typing import Any

import numpy as np
from flask import Response, g, request
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel

from folio.errors import NotFound
from generation.answer import AskRequest
from web.access import needs
from web.api.common import Name, problems
from web.api.conversations import own_conversation
from web.api.described import events
from web.context import caller, services, state, visible
from web.departure import departure
from web.openai_door.completions import chunks, completion
from web.openai_door.schemas import ChatBody, EmbeddingsBody
from web.replies import reply
from web.sse import sse_response

openai_api = APIBlueprint("openai", __name__, url_prefix="/v1", abp_tags=[Tag(name="OpenAI-compatible")])
ANY_JSON: dict[str, Any] = {"content": {"application/json": {}}}
JSON_OR_EVENTS: dict[str, Any] = {"content": {**ANY_JSON["content"], **events()["content"]}}


class ModelPath(BaseModel):
    """A model's id."""

    model: Name


@openai_api.post("/chat/completions", responses={200: JSON_OR_EVENTS, **problems(409, 413, 415, 503)})
@needs("ask")
def chat_completions(body: ChatBody) -> Response:
    """Answer the last user message over the collection that `model` names; citations come as annotations."""
    question = _question(body)
    streams, owner = state().streams, caller().key_id
    making = services().answerer.stream(question)
    permit = streams.admit()
    if body.stream:
        stream = streams.open(making, owner, permit)
        include_usage = bool(body.stream_options and body.stream_options.include_usage)
        return sse_response(stream, chunks(stream, body.model, request.host_url, include_usage, g.request_id))
    answer = streams.whole(making, owner, permit, departure())
    return reply(completion(answer, body.model, request.host_url))


@openai_api.get("/models", responses={200: ANY_JSON, **problems()})
@needs("ask")
def list_models() -> Response:
    """List the collections, and the embedding model."""
    names = [info.name for info in services().collections.list() if caller().sees(info.name)]
    return reply({"object": "list", "data": [_model(name) for name in [*names, services().embedder.name]]})


@openai_api.get("/models/<model>", responses={200: ANY_JSON, **problems()})
@needs("ask")
def get_model(path: ModelPath) -> Response:
    """Show one model."""
    if path.model != services().embedder.name:
        services().collections.get(visible(path.model))
    return reply(_model(path.model))


@openai_api.post("/embeddings", responses={200: ANY_JSON, **problems(413, 415)})
@needs("ask")
def embeddings(body: EmbeddingsBody) -> Response:
    """Embed texts with the model that the collections use."""
    embedder = services().embedder
    if body.model != embedder.name:
        raise NotFound(f"There is no embedding model {body.model!r}; this server has {embedder.name!r}.")
    texts = body.texts
    with state().streams.admit():
        vectors = np.asarray(embedder.embed_documents(texts), dtype="<f4")
    tokens = sum(embedder.count_tokens(texts))
    data = [
        {"object": "embedding", "index": i, "embedding": _encoded(vector, body.encoding_format)}
        for i, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return reply({"object": "list", "model": body.model, "data": data, "usage": usage})


def _question(body: ChatBody) -> AskRequest:
    visible(body.model)
    if body.folio.conversation_id is not None:
        own_conversation(body.folio.conversation_id)
    return AskRequest(
        question=body.question,
        collection=body.model,
        conversation_id=body.folio.conversation_id,
        top_k=body.folio.top_k,
        filters=body.folio.filters.to_filters(),
        sampling=body.sampling,
        thinking=body.folio.thinking,
        owner=caller().key_id,
        history=body.history,
    )


def _encoded(vector: np.ndarray[Any, Any], encoding: str) -> str | list[float]:
    return base64.b64encode(vector.tobytes()).decode() if encoding == "base64" else vector.tolist()


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "folio"}
