"""The original bytes of every document, kept once under their SHA-256."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

from folio.errors import InvalidRequest
from ingest.views import StoredFile

BLOCK = 1 << 20


class FileStorage:
    """A folder of files named by their hash, `<aa>/<sha256>`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, sha256: str) -> Path:
        """Where the bytes with this hash lie."""
        return self._root / sha256[:2] / sha256

    def store(self, stream: BinaryIO, *, filename: str, max_bytes: int) -> StoredFile:
        """Keep a stream's bytes; the file appears whole or not at all.

        Raises:
            InvalidRequest: the file is larger than `max_bytes`.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        handle, name = tempfile.mkstemp(dir=self._root, prefix=".incoming-")
        partial = Path(name)
        try:
            with os.fdopen(handle, "wb") as output:
                while block := stream.read(BLOCK):
                    size += len(block)
                    if size > max_bytes:
                        raise InvalidRequest(
                            f"{filename} is larger than {max_bytes // 2**20} MiB. Split it or raise FOLIO_MAX_FILE_MIB."
                        )
                    digest.update(block)
                    output.write(block)
                output.flush()
                os.fsync(output.fileno())
            sha256 = digest.hexdigest()
            target = self.path(sha256)
            target.parent.mkdir(exist_ok=True)
            partial.replace(target)
            return StoredFile(sha256, size, target)
        finally:
            partial.unlink(missing_ok=True)

    def remove(self, sha256: str) -> bool:
        """Remove the bytes with this hash; False when they were not there."""
        path = self.path(sha256)
        existed = path.exists()
        path.unlink(missing_ok=True)
        return existed
