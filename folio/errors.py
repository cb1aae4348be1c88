"""One tree of errors, each with a stable code.

FolioError
├── InvalidRequest            what was asked can't be done as asked; say what to change
│   ├── EmptyQuestion
│   ├── QuestionTooLong
│   └── Conflict              it contradicts what is already there
│       └── EmbedderMismatch
├── NotFound                  nothing by that name or id
│   └── StreamGone            an answer's stream that is not kept here
├── AccessDenied
│   ├── Unauthenticated
│   └── Forbidden
├── TooManyRequests           come back after `retry_after_s`
├── Unavailable               a part is not ready; come back after `retry_after_s`
│   ├── EngineNotReady
│   └── EngineFailed
├── ConfigurationError        a setting or the machine is not fit
│   └── ModelMissing
├── IngestError               one file could not be ingested; stored with the item, never an HTTP status
└── IntegrityError            catalog, index or file disagree

Mapped once to HTTP in `web/errors.py` and once to exit codes in `folio/cli`.
"""

from typing import ClassVar


class FolioError(Exception):
    """Base of all errors a user may see. The message says what happened, to what, and what to do next."""

    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Something went wrong inside Folio"

    def __init__(self, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_s = retry_after_s


class InvalidRequest(FolioError):
    code = "invalid_request"
    title = "The request is not valid"


class EmptyQuestion(InvalidRequest):
    code = "empty_question"
    title = "The question is empty"


class QuestionTooLong(InvalidRequest):
    code = "question_too_long"
    title = "The question is too long"


class Conflict(InvalidRequest):
    code = "conflict"
    title = "The request conflicts with what is there"


class EmbedderMismatch(Conflict):
    code = "embedder_mismatch"
    title = "The collection was indexed with another embedding model"


class NotFound(FolioError):
    code = "not_found"
    title = "Not found"


class StreamGone(NotFound):
    code = "stream_gone"
    title = "The stream is not kept any more"


class AccessDenied(FolioError):
    code = "access_denied"
    title = "Access denied"


class Unauthenticated(AccessDenied):
    code = "unauthenticated"
    title = "A valid API key is needed"


class Forbidden(AccessDenied):
    code = "forbidden"
    title = "This key may not do that"


class TooManyRequests(FolioError):
    code = "too_many_requests"
    title = "Too many requests"


class Unavailable(FolioError):
    code = "unavailable"
    title = "Not available right now"


class EngineNotReady(Unavailable):
    code = "engine_not_ready"
    title = "The language model is still loading"


class EngineFailed(Unavailable):
    code = "engine_failed"
    title = "The language model stopped"


class ConfigurationError(FolioError):
    code = "configuration"
    title = "Folio is not set up correctly"


class ModelMissing(ConfigurationError):
    code = "model_missing"
    title = "A model is missing"


class IngestError(FolioError):
    """A file that could not be ingested. `reason` is one of `ingest.reasons` and is stored with the item."""

    code = "ingest_failed"
    title = "The file could not be ingested"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class IntegrityError(FolioError):
    code = "integrity"
    title = "Catalog, index and files disagree"
