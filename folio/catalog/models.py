"""The tables of the catalog.

Offsets are characters of `Document.text`. Vectors are little-endian float16, L2-normalised.
`Chunk.text == Document.text[Chunk.start:Chunk.end]` always holds. A `Document` row exists only when the document is
whole and searchable; work in progress lives in `IngestItem`.
"""

import uuid
from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

from folio.addresses import shown_address

BigId = BigInteger().with_variant(Integer(), "sqlite")


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC that comes back aware from every database."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: object) -> datetime | None:
        """SQLite forgets the zone; say it again."""
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def new_id() -> str:
    """A random identifier, 32 hexadecimal digits."""
    return uuid.uuid4().hex


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


def _address_of_uri(context: DefaultExecutionContext) -> str:
    """The address of a row that was given none."""
    row: dict[str, Any] = context.get_current_parameters()  # type: ignore[no-untyped-call]
    return shown_address(row["uri"])


class Base(DeclarativeBase):
    """Common column types."""

    type_annotation_map: ClassVar = {
        datetime: UtcDateTime(),
        dict[str, Any]: JSON(),
        list[str]: JSON(),
        list[list[int]]: JSON(),
        bytes: LargeBinary(),
    }


class Collection(Base):
    """Documents searched together, embedded by one model."""

    __tablename__ = "collections"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    description: Mapped[str] = mapped_column(Text, default="")
    embedding_model: Mapped[str] = mapped_column(String(500))
    embedding_fingerprint: Mapped[str] = mapped_column(String(64))
    dimension: Mapped[int]
    chunking: Mapped[dict[str, Any]] = mapped_column(default=dict)
    languages: Mapped[list[str]] = mapped_column(default=list)
    calibration: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Document(Base):
    """A whole, searchable document. A changed file updates the row in place with `version + 1`, in one transaction.

    `address` is what readers are shown in place of `uri` (see `folio.addresses`). `reading` is the fingerprint of how
    its text was read and cut: another one means the file is to be read again.
    """

    __tablename__ = "documents"
    __table_args__ = (
        UniqueConstraint("collection_id", "uri", name="uq_documents_collection_uri"),
        Index("ix_documents_sha256", "collection_id", "sha256"),
        Index("ix_documents_file", "sha256"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    collection_id: Mapped[str] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"), index=True)
    uri: Mapped[str] = mapped_column(String(2000))
    address: Mapped[str] = mapped_column(String(2000), default=_address_of_uri, server_default="")
    title: Mapped[str] = mapped_column(String(1000))
    media_type: Mapped[str] = mapped_column(String(200))
    sha256: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    reading: Mapped[str] = mapped_column(String(16), default="", server_default="")
    version: Mapped[int] = mapped_column(default=1)
    status: Mapped[str] = mapped_column(String(20), default="ready")
    language: Mapped[str] = mapped_column(String(8), default="")
    text: Mapped[str] = mapped_column(Text)
    pages: Mapped[list[list[int]]] = mapped_column(default=list)
    tags: Mapped[list[str]] = mapped_column(default=list)
    meta: Mapped[dict[str, Any]] = mapped_column(default=dict)
    source_modified_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)

    chunks: Mapped[list["Chunk"]] = relationship(
        back_populates="document", cascade="all, delete-orphan", passive_deletes=True, order_by="Chunk.ordinal"
    )


class Chunk(Base):
    """A span of a document; its integer id is its id in every index, and is never used again."""

    __tablename__ = "chunks"
    __table_args__ = (
        UniqueConstraint("document_id", "ordinal", name="uq_chunks_document_ordinal"),
        Index("ix_chunks_collection_embedded", "collection_id", "embedded_sha256"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    collection_id: Mapped[str] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"))
    document_id: Mapped[str] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"))
    ordinal: Mapped[int]
    start: Mapped[int]
    end: Mapped[int]
    page_start: Mapped[int | None]
    page_end: Mapped[int | None]
    heading_path: Mapped[list[str]] = mapped_column(default=list)
    text: Mapped[str] = mapped_column(Text)
    token_count: Mapped[int]
    embedded_sha256: Mapped[str] = mapped_column(String(64))
    vector: Mapped[bytes]

    document: Mapped[Document] = relationship(back_populates="chunks")


class IndexChange(Base):
    """A line of the catalog's log of changes that indexes apply; written in the same transaction as the change.

    `kind` is `upsert` (the document's chunks are those now in the catalog) or `delete`.
    """

    __tablename__ = "index_changes"
    __table_args__ = (Index("ix_index_changes_collection", "collection_id", "seq"), {"sqlite_autoincrement": True})

    seq: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    collection_id: Mapped[str] = mapped_column(String(32))
    document_id: Mapped[str] = mapped_column(String(32))
    kind: Mapped[str] = mapped_column(String(10))
    at: Mapped[datetime] = mapped_column(default=now)


class IndexGeneration(Base):
    """A generation of a collection's index that was written, checked and switched to."""

    __tablename__ = "index_generations"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    collection_id: Mapped[str] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"), index=True)
    sequence: Mapped[int] = mapped_column(BigInteger)
    chunks: Mapped[int]
    embedding_fingerprint: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(default=now)


class IngestJob(Base):
    """One submission of files. States: queued, running, done, failed, cancelled; `done` may hold failed items."""

    __tablename__ = "ingest_jobs"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    collection_id: Mapped[str] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"), index=True)
    source: Mapped[str] = mapped_column(Text, default="")
    state: Mapped[str] = mapped_column(String(20), default="queued", index=True)
    options: Mapped[dict[str, Any]] = mapped_column(default=dict)
    actor: Mapped[str] = mapped_column(String(100), default="", server_default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    items: Mapped[list["IngestItem"]] = relationship(
        back_populates="job", cascade="all, delete-orphan", passive_deletes=True, order_by="IngestItem.ordinal"
    )


class IngestItem(Base):
    """One file of a job. States: queued, running, done, unchanged, failed, cancelled.

    Stages while running: reading, parsing, chunking, embedding, committing.
    """

    __tablename__ = "ingest_items"
    __table_args__ = (
        Index("ix_ingest_items_job_state", "job_id", "state", "ordinal"),
        Index("ix_ingest_items_state", "state"),
        Index("ix_ingest_items_document", "document_id"),
        Index("ix_ingest_items_sha256", "sha256"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    job_id: Mapped[str] = mapped_column(ForeignKey("ingest_jobs.id", ondelete="CASCADE"))
    ordinal: Mapped[int]
    uri: Mapped[str] = mapped_column(String(2000))
    address: Mapped[str] = mapped_column(String(2000), default=_address_of_uri, server_default="")
    title: Mapped[str] = mapped_column(String(1000), default="")
    media_type: Mapped[str] = mapped_column(String(200), default="")
    sha256: Mapped[str] = mapped_column(String(64), default="")
    size_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    source_modified_at: Mapped[datetime | None]
    options: Mapped[dict[str, Any]] = mapped_column(default=dict)
    state: Mapped[str] = mapped_column(String(20), default="queued")
    stage: Mapped[str] = mapped_column(String(20), default="")
    attempts: Mapped[int] = mapped_column(default=0)
    reason_code: Mapped[str] = mapped_column(String(40), default="")
    reason: Mapped[str] = mapped_column(Text, default="")
    worker: Mapped[str] = mapped_column(String(100), default="")
    heartbeat_at: Mapped[datetime | None]
    chunks_total: Mapped[int] = mapped_column(default=0)
    chunks_done: Mapped[int] = mapped_column(default=0)
    chunks_reused: Mapped[int] = mapped_column(default=0)
    document_id: Mapped[str] = mapped_column(String(32), default="")
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    job: Mapped[IngestJob] = relationship(back_populates="items")


class IdempotencyRecord(Base):
    """The reply once given to an `Idempotency-Key`, so that a repeated request does nothing twice."""

    __tablename__ = "idempotency_records"

    key: Mapped[str] = mapped_column(String(300), primary_key=True)
    request_sha256: Mapped[str] = mapped_column(String(64))
    response: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Conversation(Base):
    """Questions that build on each other."""

    __tablename__ = "conversations"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    collection_id: Mapped[str] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"), index=True)
    title: Mapped[str] = mapped_column(String(300), default="")
    owner: Mapped[str] = mapped_column(String(32), default="", index=True)
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)

    answers: Mapped[list["Answer"]] = relationship(
        back_populates="conversation", cascade="all, delete-orphan", passive_deletes=True, order_by="Answer.created_at"
    )


class Answer(Base):
    """The receipt of an answer: passages, prompt parts, settings, timings and verdicts, in `receipt`."""

    __tablename__ = "answers"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    collection_id: Mapped[str] = mapped_column(ForeignKey("collections.id", ondelete="CASCADE"), index=True)
    conversation_id: Mapped[str | None] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), index=True)
    owner: Mapped[str] = mapped_column(String(32), default="", index=True)
    question: Mapped[str] = mapped_column(Text)
    rewritten_question: Mapped[str] = mapped_column(Text, default="")
    language: Mapped[str] = mapped_column(String(8), default="")
    answer: Mapped[str] = mapped_column(Text, default="")
    refused: Mapped[bool] = mapped_column(default=False)
    model: Mapped[str] = mapped_column(String(500), default="")
    receipt: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)

    conversation: Mapped[Conversation | None] = relationship(back_populates="answers")


class Feedback(Base):
    """What a reader said of an answer: `rating` is 1 or -1."""

    __tablename__ = "feedback"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    answer_id: Mapped[str] = mapped_column(ForeignKey("answers.id", ondelete="CASCADE"), unique=True)
    rating: Mapped[int]
    comment: Mapped[str] = mapped_column(Text, default="")
    created_at: Mapped[datetime] = mapped_column(default=now)


class ApiKey(Base):
    """A key's hash and what it may do; the key itself is shown once and never stored. Empty `collections` means all."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(String(200))
    hash: Mapped[str] = mapped_column(String(128), unique=True)
    scopes: Mapped[list[str]] = mapped_column(default=list)
    collections: Mapped[list[str]] = mapped_column(default=list)
    created_at: Mapped[datetime] = mapped_column(default=now)
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class AuditEvent(Base):
    """Who ingested, deleted or changed keys, and when."""

    __tablename__ = "audit_events"

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    at: Mapped[datetime] = mapped_column(default=now, index=True)
    actor: Mapped[str] = mapped_column(String(100), default="")
    action: Mapped[str] = mapped_column(String(60))
    subject: Mapped[str] = mapped_column(String(2000), default="")
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)


class EvaluationRun(Base):
    """Figures of one `folio eval`, kept for the quality page and for comparing runs."""

    __tablename__ = "evaluation_runs"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    kind: Mapped[str] = mapped_column(String(20))
    dataset: Mapped[str] = mapped_column(String(300))
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    figures: Mapped[dict[str, Any]] = mapped_column(default=dict)
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created_at: Mapped[datetime] = mapped_column(default=now, index=True)
