"""From what a user names (files, folders, globs) to the files to ingest."""

import glob
import mimetypes
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from folio.addresses import address_below, shown_address
from folio.errors import InvalidRequest
from ingest.parsers.registry import is_supported


@dataclass(frozen=True)
class FoundFile:
    """A file on disk, and what the user named to have it.

    `is_named` tells that this was the very file, not a folder or a pattern; `address` is what readers are shown of its
    place.
    """

    source: str
    is_named: bool
    path: Path
    uri: str
    address: str
    size_bytes: int
    modified_at: datetime


@dataclass(frozen=True)
class LeftOut:
    """What was found in a folder or by a pattern and is not taken; `kind` is one of `LEFT_OUT_KINDS`."""

    path: Path
    kind: str


LEFT_OUT_KINDS = {  # and how several are called
    "image": "images",
    "hidden file": "hidden files",
    "hidden folder": "hidden folders",
    "linked folder": "linked folders",
    "broken link": "broken links",
    "pipe, socket or device": "pipes, sockets or devices",
    "file of another kind": "files of other kinds",
}


def is_url(source: str) -> bool:
    """Whether a source is a web address, or a site written as `ingest.site` writes it."""
    return source.lower().startswith(("http://", "https://", "crawl:", "sitemap:"))


def refuse_missing(source: str) -> None:
    """Refuse a source that is not there.

    Raises:
        InvalidRequest: always.
    """
    raise InvalidRequest(f"There is no file or folder {source!r}. Check the path.")


def refuse_unreadable(path: Path) -> None:
    """Refuse a path that this process may not read.

    Raises:
        InvalidRequest: always.
    """
    raise InvalidRequest(f"{path} can't be read. Check its permissions and those of the folders above it.")


def ignore_left_out(left_out: LeftOut) -> None:
    """Pass over what is not taken."""


def collect_paths(
    sources: Sequence[str],
    on_missing: Callable[[str], None] = refuse_missing,
    on_unreadable: Callable[[Path], None] = refuse_unreadable,
    on_left_out: Callable[[LeftOut], None] = ignore_left_out,
) -> Iterator[FoundFile]:
    """The files that `sources` name, each once, in a stable order.

    A file named directly is taken whatever its kind, so that its job can say why it is not readable; in a folder,
    hidden files and files of no known kind are left out, and those that vanish while it is looked through passed over.
    A link is a file in its own place, unless the file that it leads to is taken too.

    Args:
        on_missing: what to do about a source that is not there.
        on_unreadable: what to do about a file or folder that may not be read.
        on_left_out: what to do about what is not taken.

    Raises:
        InvalidRequest: a path is not there or may not be read, and nothing else was given to do about it; or it is
            empty, or neither a file nor a folder.
    """
    seen: set[Path] = set()
    for source in sources:
        if not source:
            raise InvalidRequest("An empty path was named. Name a file, a folder or an address.")
        named = Path(source).expanduser()
        try:
            paths = _expand(named, on_unreadable, on_left_out)
        except PermissionError:  # of a folder above it
            on_unreadable(named)
            continue
        if paths is None:
            on_missing(source)
            continue
        for path in sorted(paths, key=Path.is_symlink):  # a link after what it leads to
            resolved = path.resolve()
            if resolved in seen:
                continue
            try:
                stat = resolved.stat()
            except FileNotFoundError:
                if path == named:
                    on_missing(source)
                continue
            except PermissionError:
                on_unreadable(path)
                continue
            seen.add(resolved)
            yield _found(source, named, path, stat)


def _found(source: str, named: Path, path: Path, stat: os.stat_result) -> FoundFile:
    modified = datetime.fromtimestamp(stat.st_mtime, UTC)
    place = place_of(path)
    uri = place.as_uri()
    address = address_below(named, path) if named in path.parents else shown_address(uri)
    return FoundFile(source, path == named, place, uri, address, stat.st_size, modified)


def place_of(path: Path) -> Path:
    """Where a file is, whichever way leads there; a linked file is where its link is."""
    return path.parent.resolve() / path.name


def disk_of(source: str) -> int:
    """The device that a path is on; of one that is not there, the device of the nearest folder above it."""
    path = Path(source).expanduser().absolute()
    while not path.exists():
        path = path.parent
    return path.stat().st_dev


def is_away(path: Path, *, is_file: bool) -> bool:
    """Whether a path may be missing as a whole, as on a disk that is not mounted, so that what is not found below it
    is not known to be deleted: a folder that is not there or holds nothing at all, a file whose folder is not there.
    """
    if is_file:
        return not path.parent.is_dir()
    try:
        return not any(path.iterdir())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return True


def _expand(
    path: Path, on_unreadable: Callable[[Path], None], on_left_out: Callable[[LeftOut], None]
) -> list[Path] | None:
    """The files that a path names, which may be a pattern; None where there is nothing."""
    if path.is_file():
        return [path]
    if path.is_dir():
        return sorted(_readable(_walk(path, on_unreadable, on_left_out), on_left_out))
    if path.exists():
        raise InvalidRequest(f"{path} is neither a file nor a folder, and can't be read as one. Leave it out.")
    matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    for match in matches:
        if not match.is_file() and not match.is_dir():
            on_left_out(LeftOut(match, _special(match)))
    return [match for match in matches if match.is_file()] or None


def _readable(paths: Iterable[Path], on_left_out: Callable[[LeftOut], None]) -> Iterator[Path]:
    """Those of the files of a folder that are not hidden and of a kind that is read."""
    for path in paths:
        if path.name.startswith("."):
            on_left_out(LeftOut(path, "hidden file"))
        elif is_supported(path.name):
            yield path
        else:
            is_image = (mimetypes.guess_type(path.name)[0] or "").startswith("image/")
            on_left_out(LeftOut(path, "image" if is_image else "file of another kind"))


def _special(path: Path) -> str:
    return "broken link" if path.is_symlink() and not path.exists() else "pipe, socket or device"


def _walk(
    folder: Path, on_unreadable: Callable[[Path], None], on_left_out: Callable[[LeftOut], None]
) -> Iterator[Path]:
    """Every file below a folder; hidden and linked folders are left out, those that vanish meanwhile passed over."""

    def closed(error: OSError) -> None:
        if isinstance(error, PermissionError):
            on_unreadable(Path(error.filename))
        elif not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise error

    for parent, folders, names in os.walk(folder, onerror=closed):
        for name in list(folders):
            is_hidden = name.startswith(".")
            if is_hidden or Path(parent, name).is_symlink():
                folders.remove(name)  # so that it is not walked
                on_left_out(LeftOut(Path(parent, name), "hidden folder" if is_hidden else "linked folder"))
        for name in names:
            path = Path(parent, name)
            try:
                if path.is_file():
                    yield path
                elif path.is_symlink() or path.exists():  # else it vanished
                    on_left_out(LeftOut(path, _special(path)))
            except PermissionError:  # a link into a closed folder
                on_unreadable(path)
