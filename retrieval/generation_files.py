"""Index generations on disk: `<indexes dir>/<collection>/<generation>/` with a manifest of counts and checksums.

A generation is written under a hidden name, checked, and becomes visible by one atomic rename; then it never changes.
"""

import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel, ValidationError

from retrieval.vector_index import Layout

MANIFEST = "manifest.json"
FORMAT = 2  # raise when files or terms change meaning: older generations are then rebuilt
KEPT = 2  # the one in use and the one before it
# Files that tantivy rewrites in place or uses as locks: copied instead of linked, and not part of the checksums.
_MUTABLE = frozenset({"meta.json", ".managed.json"})


class Manifest(BaseModel):
    """What a generation holds. `dense` is how vectors are indexed; `files` maps each file to its SHA-256."""

    format: int
    collection_id: str
    sequence: int
    chunks: int
    dimension: int
    embedding_fingerprint: str
    languages: list[str]
    dense: Layout
    files: dict[str, str]


@dataclass(frozen=True)
class Generation:
    """A generation that is whole."""

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """Its folder's name, which sorts by catalog sequence."""
        return self.folder.name


class GenerationStore:
    """The generations of one collection below `root` (the indexes folder)."""

    def __init__(self, root: Path, collection_id: str) -> None:
        self.folder = root / collection_id

    def lock(self) -> FileLock:
        """Held by whoever writes a generation; one at a time over all processes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self.folder / ".publish.lock")

    def newest(self, fingerprint: str, dimension: int) -> Generation | None:
        """The newest generation that is undamaged and made for these vectors."""
        for folder in self._folders():
            found = _read(folder)
            if found and found.embedding_fingerprint == fingerprint and found.dimension == dimension:
                return Generation(folder, found)
        return None

    def newest_name(self) -> str:
        """The newest generation's name without checking it; empty if there is none."""
        return next((folder.name for folder in self._folders()), "")

    def newest_sequence(self) -> int:
        """The catalog sequence that the newest generation holds, without checking it; 0 if there is none."""
        return int(self.newest_name().partition("-")[0] or 0)

    def working_folder(self, kind: str) -> Path:
        """A new hidden folder beside the generations."""
        folder = self.folder / f".{kind}-{uuid.uuid4().hex[:12]}"
        folder.mkdir(parents=True)
        return folder

    def switch_to(self, working: Path, manifest: Manifest) -> Generation:
        """Complete the manifest with checksums, make all durable, check it, and rename it into place."""
        complete = manifest.model_copy(update={"files": _checksums(working)})
        (working / MANIFEST).write_text(complete.model_dump_json(indent=1))
        _sync(working)
        target = self.folder / f"{manifest.sequence:012d}-{time.time_ns():016x}"  # sorts by age
        working.rename(target)
        _sync_folder(self.folder)
        return Generation(target, complete)

    def remove_unfinished(self) -> None:
        """Remove what writers left that were killed. Call it with the lock held."""
        for folder in self.folder.glob(".new-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def prune(self) -> None:
        """Remove all but the newest generations."""
        for folder in list(self._folders())[KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)

    def _folders(self) -> Iterator[Path]:
        if self.folder.is_dir():
            yield from sorted((f for f in self.folder.iterdir() if f.name[0] != "." and f.is_dir()), reverse=True)


def link_files(source: Path, target: Path) -> None:
    """A private copy of an index folder: hard links for files that never change, copies for those that do."""
    target.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.name.endswith(".lock"):
            continue
        if file.name in _MUTABLE:
            shutil.copyfile(file, target / file.name)
        else:
            os.link(file, target / file.name)


def _read(folder: Path) -> Manifest | None:
    """The manifest of an undamaged generation; None when it is damaged, or is being pruned this moment."""
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        return manifest if manifest.format == FORMAT and _checksums(folder) == manifest.files else None
    except (OSError, ValidationError):
        return None


def _checksums(folder: Path) -> dict[str, str]:
    sums = {}
    for file in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST and p.suffix != ".lock"):
        with file.open("rb") as stream:
            sums[file.relative_to(folder).as_posix()] = hashlib.file_digest(stream, "sha256").hexdigest()
    return sums


def _sync(folder: Path) -> None:
    for file in (p for p in folder.rglob("*") if p.is_file()):
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
