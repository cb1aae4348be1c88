"""Folio's parsers beside other libraries on the same files: text found, seconds, memory, size on disk.

Recall is the share of the distinct tokens of each expected text that is found (words in lower case, single characters
for Chinese, Japanese and Korean), averaged over the files that have one; a file that fails counts as 0. The peers live
in an environment of their own, made for this and thrown away.

    python -m venv /tmp/peers && /tmp/peers/bin/pip install "markitdown[all]" kreuzberg
    python benchmarks/parsers.py FOLDER --peers /tmp/peers/bin/python   # FOLDER: manifest-dev.jsonl, files/, expected/
"""

import argparse
import importlib.metadata
import json
import re
import resource
import signal
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
TARGETS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
FILE_S = 60  # a file that takes longer has failed
FOLIO_PARTS = (
    "pypdfium2", "python-docx", "python-pptx", "python-calamine", "trafilatura", "markdownify", "odfdo", "striprtf",
    "python-oxmsg", "lxml", "charset-normalizer",
)  # fmt: skip


def main() -> None:
    """Measure each reader in a process of its own and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", help="the Python of the environment that holds the peers")
    parser.add_argument("--reader", choices=sorted(READERS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.reader:
        _read_all(arguments.folder, arguments.reader)
        return
    print("| reader | files read | mean recall | s in all | peak MiB | MiB on disk, dependencies included |")
    print("| --- | --- | --- | --- | --- | --- |")
    for reader in READERS:
        python = sys.executable if reader == "folio" else arguments.peers
        if python:
            command = [python, __file__, str(arguments.folder), "--reader", reader]
            found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
            print(_row(arguments.folder, reader, json.loads(found.stdout.splitlines()[-1])))


def _row(folder: Path, reader: str, found: dict[str, Any]) -> str:
    recalls, read = [], 0
    entries = [entry for entry in _entries(folder) if entry["behaviour"] == "text"]
    for entry in entries:
        text = found["texts"].get(entry["file"], "")
        read += bool(text.strip())
        if entry.get("expected_file"):
            wanted = _tokens(_expected(folder / entry["expected_file"]))
            recalls.append(len(wanted & _tokens(text)) / len(wanted))
    mean = sum(recalls) / len(recalls)
    cells = [f"{read} of {len(entries)}", f"{mean:.3f}", f"{found['s']:.1f}", f"{found['peak_mib']:.0f}"]
    return f"| {reader} {found['version']} | {' | '.join(cells)} | {found['disk_mib']:.0f} |"


def _expected(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", text, flags=re.DOTALL) if path.suffix == ".html" else text


def _tokens(text: str) -> set[str]:
    plain = TARGETS.sub(r"\1", unicodedata.normalize("NFKC", text).lower())
    return {token for word in re.findall(r"\w+", plain) for token in CJK.findall(word) + CJK.sub(" ", word).split()}


def _entries(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "manifest-dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _read_all(folder: Path, reader: str) -> None:
    """In the reader's own process: read every file that should give text; print what was found as one line of JSON."""
    read, distributions = READERS[reader]()
    texts: dict[str, str] = {}
    signal.signal(signal.SIGALRM, _too_slow)
    began = time.monotonic()
    for entry in _entries(folder):
        if entry["behaviour"] != "text":
            continue
        signal.alarm(FILE_S)
        try:
            texts[entry["file"]] = read(folder / "files" / entry["file"])
        except Exception as exc:
            print(f"{entry['file']}: {exc!r}"[:200], file=sys.stderr)
        finally:
            signal.alarm(0)
    found = {
        "s": time.monotonic() - began,
        "texts": texts,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "disk_mib": _on_disk(distributions),
        "version": importlib.metadata.version(distributions[0]) if reader != "folio" else "",
    }
    print()
    print(json.dumps(found))


def _too_slow(*_: object) -> None:
    raise TimeoutError


def _on_disk(names: tuple[str, ...]) -> float:
    """MiB of some distributions and all that they need."""
    waiting, seen, size = list(names), set(), 0
    while waiting:
        name = re.split(r"[^A-Za-z0-9._-]", waiting.pop(), maxsplit=1)[0].lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        paths = [Path(str(file.locate())) for file in distribution.files or []]
        size += sum(path.stat().st_size for path in paths if path.is_file())
        # Of the extras only those that are installed count, as far as their own dependencies are there.
        waiting += [need for need in distribution.requires or [] if "extra ==" not in need or name == "markitdown"]
    return size / 2**20


def _folio() -> tuple[Callable[[Path], str], tuple[str, ...]]:
    from ingest.parsers.registry import parse

    return lambda path: parse(path, path.name).text, FOLIO_PARTS


def _markitdown() -> tuple[Callable[[Path], str], tuple[str, ...]]:
    from markitdown import MarkItDown

    reader = MarkItDown()
    return lambda path: str(reader.convert(str(path)).text_content), ("markitdown",)


def _kreuzberg() -> tuple[Callable[[Path], str], tuple[str, ...]]:
    from kreuzberg import extract_file_sync

    return lambda path: str(extract_file_sync(str(path)).content), ("kreuzberg",)


READERS = {"folio": _folio, "markitdown": _markitdown, "kreuzberg": _kreuzberg}

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
