"""The original bytes of every document, kept once under their SHA-256."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from folio.errors import InvalidRequest
from ingest.views import StoredFile

BLOCK = 1 << 20
INCOMING = ".incoming-"
SYNCED_TOGETHER = 256  # files
SYNC_THREADS = 8


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
        partial, sha256, size = self.write_partial(stream, filename=filename, max_bytes=max_bytes)
        try:
            sync(partial)
            return StoredFile(sha256, size, self.place(partial, sha256))
        finally:
            partial.unlink(missing_ok=True)

    def write_partial(self, stream: BinaryIO, *, filename: str, max_bytes: int) -> tuple[Path, str, int]:
        """Write a stream to a hidden file, not yet made durable; its path, SHA-256 and size.

        Raises:
            InvalidRequest: the file is larger than `max_bytes`; nothing is left.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        handle, name = tempfile.mkstemp(dir=self._root, prefix=INCOMING)
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
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return Path(name), digest.hexdigest(), size

    def place(self, partial: Path, sha256: str) -> Path:
        """Give a durable hidden file its name."""
        target = self.path(sha256)
        target.parent.mkdir(exist_ok=True)
        return partial.replace(target)

    def everything(self) -> Iterator[Path]:
        """Every file here, halves of files too."""
        yield from self._root.glob(f"{INCOMING}*")
        yield from self._root.glob("[0-9a-f][0-9a-f]/*")

    @contextmanager
    def batch(self) -> Iterator["Batch"]:
        """Takes many files from disk; all of them are durable when the block ends."""
        batch = Batch(self)
        try:
            yield batch
            batch.flush()
        finally:
            batch.discard()

    def remove(self, sha256: str) -> bool:
        """Remove the bytes with this hash; False when they were not there."""
        path = self.path(sha256)
        existed = path.exists()
        path.unlink(missing_ok=True)
        return existed


class Batch:
    """Files from disk, hashed first: bytes that are here already are not copied; the others share their syncs."""

    def __init__(self, storage: FileStorage) -> None:
        self._storage = storage
        self._partials: dict[str, Path] = {}

    def add(self, path: Path, *, max_bytes: int) -> StoredFile:
        """Take a file.

        Raises:
            InvalidRequest: it is larger than `max_bytes`.
        """
        sha256, size = hash_file(path)
        target = self._storage.path(sha256)
        if sha256 not in self._partials and not _is_whole(target, size):
            with path.open("rb") as stream:  # it may change between the two readings; what is written counts
                partial, sha256, size = self._storage.write_partial(stream, filename=str(path), max_bytes=max_bytes)
            previous = self._partials.get(sha256)
            if previous is not None:
                previous.unlink(missing_ok=True)
            self._partials[sha256] = partial
            if len(self._partials) >= SYNCED_TOGETHER:
                self.flush()
        return StoredFile(sha256, size, self._storage.path(sha256))

    def flush(self) -> None:
        """Make what was taken durable, then give it its names."""
        with ThreadPoolExecutor(SYNC_THREADS) as pool:  # the file system's journal joins syncs that come together
            list(pool.map(sync, self._partials.values()))
        for sha256, partial in self._partials.items():
            self._storage.place(partial, sha256)
        self._partials.clear()

    def discard(self) -> None:
        """Remove what was not flushed."""
        for partial in self._partials.values():
            partial.unlink(missing_ok=True)


def hash_file(path: Path) -> tuple[str, int]:
    """SHA-256 and size in bytes of a file."""
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        return sha256, stream.tell()


def sync(path: Path) -> None:
    """Make a file's bytes durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_whole(target: Path, size: int) -> bool:
    """Whether the bytes lie there; they count as new from now, so that no sweep takes them before their job exists."""
    try:
        if target.stat().st_size != size:
            return False
        os.utime(target)
    except FileNotFoundError:
        return False
    return True
