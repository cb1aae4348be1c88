"""Conversations: questions that build on each other, kept with their answers until their owner deletes them."""

from datetime import datetime

from pydantic import BaseModel
from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from folio.catalog import Catalog
from folio.catalog.models import Answer as AnswerRow
from folio.catalog.models import Collection, now
from folio.catalog.models import Conversation as ConversationRow
from folio.catalog.withdrawal import hold_collection
from folio.errors import NotFound
from generation.answer import Answer

TITLE_LENGTH = 120


class ConversationSummary(BaseModel):
    """A line of the list of conversations."""

    id: str
    title: str
    collection: str
    owner: str
    answers: int
    created_at: datetime
    updated_at: datetime


class Conversation(ConversationSummary):
    """A conversation with its answers, oldest first."""

    items: list[Answer]


class Conversations:
    """The conversations of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def list(
        self, owner: str, *, limit: int = 50, after: tuple[datetime, str] | None = None
    ) -> list[ConversationSummary]:
        """An owner's conversations, the last used first; `after`: time and id of the last one already seen."""
        counts = (
            select(AnswerRow.conversation_id, func.count().label("answers"))
            .group_by(AnswerRow.conversation_id)
            .subquery()
        )
        query = (
            select(ConversationRow, Collection.name, func.coalesce(counts.c.answers, 0))
            .join(Collection, Collection.id == ConversationRow.collection_id)
            .outerjoin(counts, counts.c.conversation_id == ConversationRow.id)
            .where(ConversationRow.owner == owner)
            .order_by(ConversationRow.updated_at.desc(), ConversationRow.id)
            .limit(limit)
        )
        if after is not None:
            moment, seen = after
            older, same = ConversationRow.updated_at < moment, ConversationRow.updated_at == moment
            query = query.where(or_(older, and_(same, ConversationRow.id > seen)))
        with self._catalog.read() as session:
            return [ConversationSummary(**_fields(row, name), answers=n) for row, name, n in session.execute(query)]

    def get(self, conversation_id: str) -> Conversation:
        """A conversation with its answers.

        Raises:
            NotFound: there is none by that id.
        """
        with self._catalog.read() as session:
            row = _row(session, conversation_id)
            name = session.scalar(select(Collection.name).where(Collection.id == row.collection_id)) or ""
            items = [Answer.model_validate(answer.receipt["answer"]) for answer in row.answers]
            return Conversation(**_fields(row, name), answers=len(items), items=items)

    def create(self, collection_id: str, first_question: str, owner: str) -> str:
        """Begin a conversation; its id.

        Raises:
            NotFound: the collection was deleted meanwhile.
        """
        with self._catalog.write() as session:
            hold_collection(session, collection_id)
            row = ConversationRow(collection_id=collection_id, title=first_question[:TITLE_LENGTH], owner=owner)
            session.add(row)
            session.flush()
            return row.id

    def touch(self, conversation_id: str) -> None:
        """Note that the conversation went on."""
        with self._catalog.write() as session:
            _row(session, conversation_id).updated_at = now()

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation with its answers and what readers said of them.

        Raises:
            NotFound: there is none by that id.
        """
        with self._catalog.write() as session:
            session.delete(_row(session, conversation_id))


def _row(session: Session, conversation_id: str) -> ConversationRow:
    row = session.get(ConversationRow, conversation_id)
    if row is None:
        raise NotFound(f"There is no conversation {conversation_id!r}.")
    return row


def _fields(row: ConversationRow, collection: str) -> dict[str, object]:
    return {
        "id": row.id,
        "title": row.title,
        "collection": collection,
        "owner": row.owner,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }
