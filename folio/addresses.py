"""What readers are shown of where a document comes from: everything but the place on the server's disk.

In the catalog a document has two names. Its `uri` is its identity and, for a file, where it lies on this machine; only
the catalog, the audit log and the command line know it. Its `address` is what every reply carries as `uri`.
"""

import os
import unicodedata
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

from pydantic import AfterValidator

BREAKING = frozenset({"Cc", "Cs", "Zl", "Zp"})  # categories of characters that end or steer a terminal's line
INSIDE = "!/"  # between a container's uri and the name of a file in it


def shown_address(uri: str) -> str:
    """The address of a uri of which nothing else is known: a file's name alone; what is no file on disk, as it is."""
    if not uri.startswith("file:/"):
        return uri
    container, inside, member = uri.partition(INSIDE)
    return f"file:{unquote(container.rpartition('/')[2])}{inside}{member}"


def readable(name: str) -> str:
    """A name from the file system as text: bytes that are not UTF-8 (an old disk's GBK, say) are marks of doubt."""
    return os.fsencode(name).decode("utf-8", "replace")


def on_a_line(uri: str) -> str:
    """A uri or address for a line of a terminal: a file's as its path; what would break the line is a mark of doubt."""
    name = unquote(uri.removeprefix("file://")) if uri.startswith("file:/") else uri.removeprefix("file:")
    return "".join(char if unicodedata.category(char) not in BREAKING else "\ufffd" for char in name)


def address_below(folder: Path, path: Path) -> str:
    """The address of a file found below a folder that was named: the folder's own name and what follows it.

    The name of a home folder is a user's name, and is left out.
    """
    whole = folder.resolve()
    name = "" if whole.parent == Path.home().parent else whole.name
    return f"file:{readable((name / path.relative_to(folder)).as_posix())}"


ShownAddress = Annotated[str, AfterValidator(shown_address)]
"""A field that can't hold a place on the server's disk, whatever is put in or was stored once."""
