"""Every direct dependency is there for a reason that is written down."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def direct_dependencies() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for extra in project["optional-dependencies"].values() for name in extra]
    return {re.split(r"[\[<>=~! ]", entry)[0] for entry in [*project["dependencies"], *extras]}


def test_every_dependency_stands_in_the_docs_with_its_licence():
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").lower()
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"[a-z0-9_.-]+", row)}
    missing = {name for name in direct_dependencies() if name.lower() not in named}
    assert not missing


def test_the_lock_holds_every_dependency_of_the_cpu_set():
    locked = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints-cpu.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = {
        re.split(r"[\[<>=~! ]", entry)[0].lower().replace("_", "-")
        for entry in [*project["dependencies"], *extras["cpu"], *extras["test"]]
    }
    assert not wanted - locked
