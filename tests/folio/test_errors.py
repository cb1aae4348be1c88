"""The error tree: stable codes, one exit status each."""

import subprocess
import sys

from folio.cli import exit_status
from folio.errors import FolioError, ModelMissing, NotFound


def every_error(kind: type[FolioError] = FolioError) -> list[type[FolioError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in every_error(child))]


def test_every_error_has_a_code_of_its_own_and_a_title():
    kinds = [kind for kind in every_error() if kind.__module__ == "folio.errors"]
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert all(kind.title for kind in kinds)


def test_exit_status_is_that_of_the_nearest_branch():
    assert exit_status(NotFound("x")) == 4
    assert exit_status(ModelMissing("x")) == 7
    assert exit_status(FolioError("x")) == 1


def test_an_error_on_the_command_line_is_one_clear_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "folio", "ask", "why?"],
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "FOLIO_MODEL": "/nowhere",
            "FOLIO_DATA_DIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7
    assert "Traceback" not in done.stderr
    assert "/nowhere" in done.stderr
