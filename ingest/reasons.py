"""Why a file could not be ingested: stable codes, each with what it means for the reader of a job."""

from typing import Final

NO_TEXT: Final = "no_text"
ENCRYPTED: Final = "encrypted"
CORRUPT: Final = "corrupt"
UNSUPPORTED: Final = "unsupported"
TOO_LARGE: Final = "too_large"
TOO_DEEP: Final = "too_deep"
TIMEOUT: Final = "timeout"
ENCODING: Final = "encoding"
MEMORY: Final = "memory"
CRASHED: Final = "crashed"
MISSING: Final = "missing"
FETCH_FAILED: Final = "fetch_failed"
REFUSED: Final = "refused"
OTHER_MODEL: Final = "other_model"
WORKER_LOST: Final = "worker_lost"
INTERNAL: Final = "internal"

MEANINGS: Final[dict[str, str]] = {
    NO_TEXT: "The file holds no text; a scan needs text recognition first.",
    ENCRYPTED: "The file is protected by a password.",
    CORRUPT: "The file is damaged or is not what its name says.",
    UNSUPPORTED: "Files of this kind can't be read.",
    TOO_LARGE: "The file, or the text in it, is larger than the limit.",
    TOO_DEEP: "Archives inside archives go deeper than the limit.",
    TIMEOUT: "The file took longer to read than the limit.",
    ENCODING: "The character encoding can't be told; save the file as UTF-8.",
    MEMORY: "The file needed more memory to read than the limit.",
    CRASHED: "The parser crashed on this file.",
    MISSING: "The file is no longer there.",
    FETCH_FAILED: "The address could not be fetched.",
    REFUSED: "The address may not be fetched.",
    OTHER_MODEL: "The collection was moved to another embedding model than this worker's.",
    WORKER_LOST: "The worker died each time while it had this file.",
    INTERNAL: "Something went wrong inside Folio.",
}

RETRYABLE: Final = frozenset({MISSING, FETCH_FAILED, TIMEOUT, MEMORY, CRASHED, WORKER_LOST, INTERNAL})
