"""Why a vLLM server ended, by the end of its log: a sentence that says what to do, for the causes that people meet."""

import re
from pathlib import Path

TAIL_BYTES = 64 * 1024
KILLED = -9

_CAUSES = (
    (
        re.compile(r"out of memory|Cannot allocate memory|MemoryError|DefaultCPUAllocator|OutOfMemory", re.IGNORECASE),
        "The engine ran out of memory. Lower FOLIO_KV_CACHE_GIB or FOLIO_MAX_MODEL_LEN, or take a smaller FOLIO_MODEL.",
    ),
    (
        re.compile(r"KV cache is (?:needed|larger)|No available memory for the cache blocks|larger than the available"),
        "The KV cache is too small for the context window. Raise FOLIO_KV_CACHE_GIB or lower FOLIO_MAX_MODEL_LEN.",
    ),
    (
        re.compile(r"address already in use", re.IGNORECASE),
        "The engine's port is taken by another program. Set FOLIO_ENGINE_PORT to a free one, or to 0.",
    ),
    (
        re.compile(r"unrecognized arguments|error: argument|invalid choice"),
        "The engine does not know an argument of FOLIO_ENGINE_ARGS.",
    ),
    (
        re.compile(r"max_model_len\) is greater than|greater than the derived max_model_len"),
        "FOLIO_MAX_MODEL_LEN is more than the model was made for. Lower it.",
    ),
    (
        re.compile(r"not a valid model identifier|Repository Not Found|couldn't connect to .{0,80} to load the files"),
        "The engine can't find the model. Set FOLIO_MODEL to a folder or a hub name that it can reach.",
    ),
    (
        re.compile(r"[Mm]odel architectures? .{0,80}not supported|does not recognize this architecture"),
        "This vLLM can't serve models of this architecture. Choose another FOLIO_MODEL.",
    ),
)
_ERROR_LINE = re.compile(r"^.*?\b((?:[A-Z]\w*(?:Error|Exception)|error): .+)$", re.MULTILINE)

_FOLDERS = re.compile(r"(?<![\w:/.])~?(?:/[^\s/'\":,]+)+/")  # of a path on this machine: what says no more than where


def why_it_ended(log: Path, status: int | None, since: int = 0) -> str:
    """What ended the engine, told to every reader of the status: folders of this machine are left out.

    Args:
        status: its exit status, negative for a signal.
        since: where in the log its output begins, in bytes.
    """
    text = _tail(log, since)
    for pattern, sentence in _CAUSES:
        if pattern.search(text):
            return sentence
    if status == KILLED:
        return "The engine was killed, most often for using too much memory. Give it less: FOLIO_KV_CACHE_GIB."
    errors = _ERROR_LINE.findall(text)
    said = f": {_FOLDERS.sub('', errors[-1]).strip()[:200]}" if errors else "."
    return f"The engine ended with status {status}{said} Its log, {log.name}, has the details."


def _tail(log: Path, since: int) -> str:
    if not log.exists():
        return ""
    size = log.stat().st_size
    start = since if since <= size else 0  # a log that was rotated meanwhile
    with log.open("rb") as stream:
        stream.seek(max(start, size - TAIL_BYTES))
        return stream.read().decode("utf-8", errors="replace")
