"""From what a user names (files, folders, globs) to the files to ingest."""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from folio.errors import InvalidRequest
from ingest.parsers.registry import is_supported


@dataclass(frozen=True)
class FoundFile:
    """A file on disk."""

    path: Path
    uri: str
    size_bytes: int
    modified_at: datetime


def is_url(source: str) -> bool:
    """Whether a source is a web address, or a site written as `ingest.site` writes it."""
    return source.lower().startswith(("http://", "https://", "crawl:", "sitemap:"))


def collect_paths(sources: Sequence[str]) -> Iterator[FoundFile]:
    """The files that `sources` name, each once, in a stable order.

    A file named directly is taken whatever its kind, so that its job can say why it is not readable; in a folder,
    hidden files and files of no known kind are passed over.

    Raises:
        InvalidRequest: a path is not there.
    """
    seen: set[Path] = set()
    for source in sources:
        for path in _expand(source):
            resolved = path.resolve()
            if resolved not in seen:
                seen.add(resolved)
                stat = resolved.stat()
                modified = datetime.fromtimestamp(stat.st_mtime, UTC)
                yield FoundFile(resolved, resolved.as_uri(), stat.st_size, modified)


def _expand(source: str) -> list[Path]:
    path = Path(source).expanduser()
    if path.is_file():
        return [path]
    if path.is_dir():
        return sorted(
            found
            for found in path.rglob("*")
            if found.is_file()
            and not any(part.startswith(".") for part in found.relative_to(path).parts)
            and is_supported(found.name)
        )
    matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    files = [match for match in matches if match.is_file()]
    if not files:
        raise InvalidRequest(f"There is no file or folder {source!r}. Check the path.")
    return files
