"""ZIP and TAR archives: each member becomes a document of its own. Counts, sizes and names are bounded.

Sizes are counted while unpacking, never taken from the archive's own word; nothing is written to disk.
"""

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from folio.errors import IngestError
from ingest import reasons
from ingest.parsed import MAX_EMBEDDED_BYTES, Embedded, Parsed, bounded

LOCAL_FILE = b"PK\x03\x04"  # APPNOTE.TXT, 4.3.7
SKIPPED_NAMES = ("__MACOSX/", ".DS_Store", "Thumbs.db")


def parse_zip(path: Path, filename: str) -> Parsed:
    """The members of a ZIP archive.

    Raises:
        IngestError: `encrypted`, `corrupt` or `too_large`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if any(member.flag_bits & 1 for member in archive.infolist()):
                raise IngestError(reasons.ENCRYPTED, "The archive is protected by a password.")
            if _is_cut_short(path, archive):
                raise IngestError(reasons.CORRUPT, "The archive breaks off; its list of files is missing.")
            return Parsed(text="", embedded=bounded(_zip_members(archive)))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as exc:
        raise IngestError(reasons.CORRUPT, "The archive is damaged, or is not a ZIP file.") from exc


def parse_tar(path: Path, filename: str) -> Parsed:
    """The members of a TAR archive, compressed or not. Links and devices are left out.

    Raises:
        IngestError: `corrupt` or `too_large`.
    """
    try:
        with tarfile.open(path) as archive:
            return Parsed(text="", embedded=bounded(_tar_members(archive)))
    except (tarfile.TarError, zlib.error, EOFError, OSError) as exc:
        raise IngestError(reasons.CORRUPT, "The archive is damaged, or is not a TAR file.") from exc


def _zip_members(archive: zipfile.ZipFile) -> Iterator[Embedded]:
    for member in archive.infolist():
        if not member.is_dir() and (name := _name(member.filename)):
            yield _zip_member(archive, member, name)


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Embedded:
    try:
        with archive.open(member) as stream:
            return Embedded(name, _read(stream))
    except (zipfile.BadZipFile, zlib.error, EOFError):  # the others may be in order
        return Embedded(name, b"", is_damaged=True)


def _is_cut_short(path: Path, archive: zipfile.ZipFile) -> bool:
    """Whether a file begins before all that are listed: then the list is that of an archive inside."""
    with path.open("rb") as file:
        begins_with_a_file = file.read(len(LOCAL_FILE)) == LOCAL_FILE
    return begins_with_a_file and min((member.header_offset for member in archive.infolist()), default=0) > 0


def _tar_members(archive: tarfile.TarFile) -> Iterator[Embedded]:
    for member in archive:
        if member.isfile() and (name := _name(member.name)):
            stream = archive.extractfile(member)
            if stream is not None:
                yield Embedded(name, _read(stream))


def _read(stream: IO[bytes]) -> bytes:
    data = stream.read(MAX_EMBEDDED_BYTES + 1)
    if len(data) > MAX_EMBEDDED_BYTES:
        raise IngestError(reasons.TOO_LARGE, f"A file inside is larger than {MAX_EMBEDDED_BYTES // 2**20} MiB.")
    return data


def _name(name: str) -> str:
    """A member's name without roots and steps upwards; empty for what no reader wants."""
    if any(skipped in name for skipped in SKIPPED_NAMES):
        return ""
    return "/".join(part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("..", "/", "."))
