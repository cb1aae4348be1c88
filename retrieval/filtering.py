"""From filters to the documents they allow, by one query to the catalog; the indexes then search only in those."""

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement

from folio.catalog.models import Document
from retrieval.passages import Filters


def allowed_documents(session: Session, collection_id: str, filters: Filters) -> list[str] | None:
    """Ids of the documents that pass; None when nothing is filtered."""
    if not filters:
        return None
    query = select(Document.id).where(Document.collection_id == collection_id)
    for condition in _conditions(filters):
        query = query.where(condition)
    rows = session.scalars(query).all()
    if filters.tags or filters.metadata:
        return _by_tags_and_metadata(session, query, filters)
    return list(rows)


def _conditions(filters: Filters) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if filters.document_ids:
        conditions.append(Document.id.in_(filters.document_ids))
    if filters.media_types:
        conditions.append(Document.media_type.in_(filters.media_types))
    if filters.languages:
        family = [Document.language.startswith(f"{language}-", autoescape=True) for language in filters.languages]
        conditions.append(or_(Document.language.in_(filters.languages), *family))
    if filters.uri_prefix:
        conditions.append(func.substr(Document.address, 1, len(filters.uri_prefix)) == filters.uri_prefix)
    if filters.modified_after:
        conditions.append(Document.source_modified_at >= filters.modified_after)
    if filters.modified_before:
        conditions.append(Document.source_modified_at < filters.modified_before)
    return conditions


def _by_tags_and_metadata(session: Session, query: Select[str], filters: Filters) -> list[str]:
    wanted = set(filters.tags)
    rows = session.execute(query.with_only_columns(Document.id, Document.tags, Document.meta))
    return [
        document_id
        for document_id, tags, meta in rows
        if (not wanted or wanted & set(tags)) and all(str(meta.get(k)) == v for k, v in filters.metadata.items())
    ]
