"""Names of files, which come from strangers and go into headers."""

import re

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
LONGEST = 1000


def clean_name(name: str) -> str:
    """A file's name, with its folders where a whole folder is uploaded; nothing in it can climb or confuse."""
    parts = [part.strip() for part in CONTROL.sub("", name).replace("\\", "/").split("/")]
    return "/".join(part for part in parts if part not in ("", ".", ".."))[-LONGEST:] or "unnamed"
