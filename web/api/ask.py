"""`POST /api/v1/ask`: a question in; the whole answer, or server-sent events while it is made, out."""

from typing import Literal

from flask import Response, request
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel, ConfigDict, Field

from generation.answer import Answer, AskRequest, Sampling
from web.access import needs
from web.api.common import Body, FiltersBody, Id, Name, Question, checked_question, problems
from web.api.conversations import own_conversation
from web.api.described import events, json_or_events
from web.context import caller, services, state, visible
from web.departure import departure
from web.replies import reply
from web.sse import event_stream, position
from web.streams import AnswerStream, gone

ask_api = APIBlueprint("ask", __name__, url_prefix="/api/v1/ask", abp_tags=[Tag(name="Ask")])


class AskBody(Body):
    """A question and everything that shapes its answer."""

    model_config = ConfigDict(json_schema_extra={"example": {"question": "What does PagedAttention reduce?"}})

    question: Question
    collection: Name = "default"
    conversation_id: Id | None = Field(None, description="Go on with this conversation; its answers are the history.")
    top_k: int | None = Field(None, ge=1, le=50, description="Passages given to the language model.")
    filters: FiltersBody = FiltersBody()
    stream: bool = Field(False, description="Reply with server-sent events while the answer is made.")
    sampling: Sampling = Sampling()
    thinking: Literal["hide", "show"] = "hide"
    mode: Literal["answer", "agent"] = "answer"
    logprobs: bool = Field(False, description="Keep each token's probability and alternatives in the receipt.")

    def to_request(self, owner: str) -> AskRequest:
        """As generation takes it."""
        given = self.model_dump(exclude={"stream", "filters", "sampling"})
        return AskRequest(**given, filters=self.filters.to_filters(), sampling=self.sampling, owner=owner)


class StreamPath(BaseModel):
    """An answer's stream."""

    stream_id: Id


@ask_api.post("", responses={200: json_or_events(Answer), **problems(409, 410, 413, 415, 503)})
@needs("ask")
def ask(body: AskBody) -> Response:
    """Ask a question.

    With `stream: true` the reply is `text/event-stream`: `passages`, `thinking`, `token`, `sentence`, then `done` with
    the same object as the plain reply, or `error` with a problem. After a broken connection, send the same request with
    the `Last-Event-ID` header, or follow `GET /api/v1/ask/{stream_id}`.
    """
    if last := request.headers.get("Last-Event-ID", ""):
        stream_id, after = position(last)
        return event_stream(_own_stream(stream_id), after)
    checked_question(body.question)
    visible(body.collection)
    if body.conversation_id is not None:
        own_conversation(body.conversation_id)
    streams, owner = state().streams, caller().key_id
    making = services().answerer.stream(body.to_request(owner))
    permit = streams.admit()
    if body.stream:
        return event_stream(streams.open(making, owner, permit))
    return reply(streams.whole(making, owner, permit, departure()))


@ask_api.get("/<stream_id>", responses={200: events(), **problems(410)})
@needs("ask")
def follow(path: StreamPath) -> Response:
    """Follow an answer that is being made, from the event after `Last-Event-ID` on, or from its beginning."""
    _, after = position(request.headers.get("Last-Event-ID", ""))
    return event_stream(_own_stream(path.stream_id), after)


@ask_api.delete("/<stream_id>", responses={204: None, **problems(410)})
@needs("ask")
def stop(path: StreamPath) -> Response:
    """Stop an answer that is being made; the engine drops it at once."""
    _own_stream(path.stream_id).stop()
    return Response(status=204)


def _own_stream(stream_id: str) -> AnswerStream:
    stream = state().streams.get(stream_id)
    if not caller().owns(stream.owner):
        raise gone()
    return stream
