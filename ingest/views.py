"""What users see of jobs: states, counts, rate, and each file with its stage and reason."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, Field

from folio.addresses import ShownAddress, shown_address


@dataclass(frozen=True)
class StoredFile:
    """Bytes kept under their hash."""

    sha256: str
    size_bytes: int
    path: Path


@dataclass(frozen=True)
class IncomingFile:
    """A file to ingest whose bytes are stored already.

    Its `uri` is its identity within the collection; `address` is what readers are shown in its place, where that is
    more than the uri itself says.
    """

    uri: str
    title: str
    media_type: str
    sha256: str
    size_bytes: int
    source_modified_at: datetime | None = None
    tags: list[str] = field(default_factory=list)
    meta: dict[str, str] = field(default_factory=dict)
    address: str = ""

    @property
    def shown(self) -> str:
        """What readers are shown of where it comes from."""
        return self.address or shown_address(self.uri)


class Counts(BaseModel):
    """Files of a job by state; `opened` are those of `done` that are no documents but hold them, as archives do."""

    total: int = 0
    queued: int = 0
    running: int = 0
    done: int = 0
    unchanged: int = 0
    failed: int = 0
    cancelled: int = 0
    opened: int = 0

    @property
    def finished(self) -> int:
        """Files that need no more work."""
        return self.done + self.unchanged + self.failed + self.cancelled


class ItemView(BaseModel):
    """A file of a job. `uri` is its address."""

    id: str
    uri: ShownAddress
    catalog_uri: str = Field("", exclude=True)  # of a file, where it lies on the server: in no reply
    title: str
    state: str
    stage: str
    attempts: int
    reason_code: str
    reason: str
    chunks_total: int
    chunks_done: int
    chunks_reused: int
    document_id: str
    size_bytes: int


class ItemPage(BaseModel):
    """Some files of a job, in their order; `next_after` leads to the following ones."""

    items: list[ItemView]
    next_after: int | None


class JobView(BaseModel):
    """A job.

    `rate_chunks_per_s` is measured over its present run; `eta_s` is known once a file of it is embedded: the chunks
    left, those of files not yet parsed counted by their bytes, at that rate. `items` are those that matter most
    (failed, running, waiting, then the rest) up to a limit; `items_left_out` says how many are not among them. `source`
    says where they come from: of files on the server only `disk`.
    """

    id: str
    collection: str
    source: str
    catalog_source: str = Field("", exclude=True)  # with the paths that were named: in no reply
    state: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    files: Counts
    chunks_total: int
    chunks_done: int
    rate_chunks_per_s: float | None
    eta_s: float | None
    items: list[ItemView]
    items_left_out: int = 0

    @property
    def is_finished(self) -> bool:
        """Whether nothing of it is left to do."""
        return self.state in ("done", "failed", "cancelled")
