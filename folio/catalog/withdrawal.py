"""What answers forget when a document they rest on is deleted: the stored ones, and those made meanwhile.

An answer that cites the document loses its text; one that was only shown it loses the passage. Prompts go in the whole
conversation, since later turns repeat earlier ones. Receipts are JSON as `docs/api.md` tells it.
"""

from typing import Any

from sqlalchemy import String, cast, select
from sqlalchemy.orm import Session

from folio.catalog.models import Answer, Collection, Document
from folio.errors import NotFound

NOTICES = {
    "en": "A document that this answer rested on has been deleted, so the answer is no longer shown.",
    "zh": "此回答所依据的文档已被删除，因此不再显示回答内容。",
}


def withdraw_answers(session: Session, collection_id: str, document_id: str) -> int:
    """Take everything of a document out of the answers of its collection; how many answers were changed."""
    rows = session.scalars(select(Answer).where(Answer.collection_id == collection_id, _mentions(document_id))).all()
    for row in rows:
        _withdraw(row, document_id)
    conversations = {row.conversation_id for row in rows if row.conversation_id}
    for row in session.scalars(select(Answer).where(Answer.conversation_id.in_(conversations))):
        row.receipt = {**row.receipt, "prompt": []}
    session.flush()
    return len(rows)


def hold_collection(session: Session, collection_id: str) -> None:
    """Keep a collection and its documents from being deleted until the transaction ends, by a shared lock.

    Raises:
        NotFound: it was deleted already.
    """
    held = select(Collection.id).where(Collection.id == collection_id).with_for_update(read=True)
    if session.scalar(held) is None:
        raise NotFound("The collection was deleted while the answer was made, and the answer with it.")


def withdraw_deleted(session: Session, row: Answer) -> None:
    """Take out of an answer, before it is stored, what belongs to documents deleted while it was made.

    The caller holds the collection (`hold_collection`): either this sees a deletion, or that deletion will see the
    stored answer.
    """
    mentioned = {
        place["document_id"]
        for places in (row.receipt["passages"], row.receipt["answer"]["passages"], row.receipt["answer"]["citations"])
        for place in places
    }
    there = set(session.scalars(select(Document.id).where(Document.id.in_(mentioned))))
    for document_id in sorted(mentioned - there):
        _withdraw(row, document_id)
    withdrawn = select(Answer.id).where(
        Answer.conversation_id == row.conversation_id, Answer.answer.in_(NOTICES.values())
    )
    if row.conversation_id and session.scalar(withdrawn.limit(1)):
        row.receipt = {**row.receipt, "prompt": []}  # its history was read while that answer still had its text


def answers_mentioning(session: Session, collection_id: str, document_id: str) -> int:
    """How many stored answers still hold something of a document."""
    found = select(Answer.id).where(Answer.collection_id == collection_id, _mentions(document_id))
    return len(session.scalars(found).all())


def _mentions(document_id: str) -> Any:
    return cast(Answer.receipt, String).contains(document_id, autoescape=True)


def _withdraw(row: Answer, document_id: str) -> None:
    receipt = dict(row.receipt)
    answer = dict(receipt.get("answer", {}))
    if any(citation["document_id"] == document_id for citation in answer.get("citations", [])):
        row.answer = answer["answer"] = NOTICES.get(row.language, NOTICES["en"])
        row.refused, row.rewritten_question = True, ""
        # Refused, so that later turns of the conversation leave it out of their history.
        answer |= {"refused": True, "citations": [], "sentences": [], "thinking": None}
        receipt["search_query"] = row.question
    elif answer.get("thinking"):
        answer["thinking"] = None
    answer["passages"] = _without(answer.get("passages", []), document_id)
    receipt |= {"answer": answer, "passages": _without(receipt.get("passages", []), document_id)}
    # What the model wrote before the checks may repeat any passage, cited or not, also in an answer that was refused.
    receipt |= {"prompt": [], "steps": [], "raw": "", "logprobs": []}
    row.receipt = receipt


def _without(passages: list[dict[str, Any]], document_id: str) -> list[dict[str, Any]]:
    return [passage for passage in passages if passage["document_id"] != document_id]
