"""`/api/v1/conversations`: the history of one's own questions."""

from flask import Response
from flask_openapi3 import APIBlueprint, Tag
from pydantic import BaseModel

from folio.errors import NotFound
from generation.conversations import Conversation, ConversationSummary
from web.access import needs
from web.api.common import Id, PageQuery, cursor_after, problems, seen_at
from web.api.described import json_of
from web.context import caller, services
from web.replies import reply

conversations_api = APIBlueprint(
    "conversations", __name__, url_prefix="/api/v1/conversations", abp_tags=[Tag(name="Conversations")]
)


class ConversationPath(BaseModel):
    """A conversation's id."""

    conversation_id: Id


class ConversationPage(BaseModel):
    """One's own conversations, the last used first."""

    items: list[ConversationSummary]
    next_cursor: str | None


@conversations_api.get("", responses={200: json_of(ConversationPage), **problems()})
@needs("ask")
def list_conversations(query: PageQuery) -> Response:
    """List one's own conversations, the last used first."""
    items = services().conversations.list(caller().key_id, limit=query.limit, after=seen_at(query.cursor))
    visible_items = [item for item in items if caller().sees(item.collection)]
    cursor = cursor_after(items, query.limit, lambda item: (item.updated_at, item.id))
    return reply(ConversationPage(items=visible_items, next_cursor=cursor))


@conversations_api.get("/<conversation_id>", responses={200: json_of(Conversation), **problems()})
@needs("ask")
def get_conversation(path: ConversationPath) -> Response:
    """A conversation with its answers, oldest first."""
    return reply(own_conversation(path.conversation_id))


@conversations_api.delete("/<conversation_id>", responses={204: None, **problems()})
@needs("ask")
def delete_conversation(path: ConversationPath) -> Response:
    """Delete a conversation with its answers."""
    own_conversation(path.conversation_id)
    services().conversations.delete(path.conversation_id)
    return Response(status=204)


def own_conversation(conversation_id: str) -> Conversation:
    """A conversation that is the caller's.

    Raises:
        NotFound: the same for one that is not there and one of somebody else.
    """
    missing = NotFound(f"There is no conversation {conversation_id!r}.")
    try:
        conversation = services().conversations.get(conversation_id)
    except NotFound as exc:
        raise missing from exc
    if not (caller().owns(conversation.owner) and caller().sees(conversation.collection)):
        raise missing
    return conversation
