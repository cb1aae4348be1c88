"""Who may import whom (DESIGN: the parts)."""

import ast
import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("folio", "ingest", "retrieval", "generation", "web")
ALLOWED = {
    "folio": set(),
    "retrieval": {"folio"},
    "ingest": {"folio", "retrieval"},
    "generation": {"folio", "retrieval"},
    "web": {"folio", "retrieval", "ingest", "generation"},
}
# The front door and the composition root know every part, but only inside functions, so that importing them is instant.
FRONT_DOORS = ("folio/cli/", "folio/services.py")


def imported_parts(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found & set(PARTS)


def top_level_imports(path: Path) -> set[str]:
    module = ast.parse(path.read_text(encoding="utf-8"))
    plain = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return imported_parts(ast.Module(body=plain, type_ignores=[]))


def sources(part: str) -> list[Path]:
    return sorted((ROOT / part).rglob("*.py"))


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_only_the_parts_below_it(part):
    for path in sources(part):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(FRONT_DOORS):
            assert top_level_imports(path) <= {"folio"}, f"{name} must import other parts inside its functions"
            continue
        beyond = imported_parts(ast.parse(path.read_text(encoding="utf-8"))) - ALLOWED[part] - {part}
        assert not beyond, f"{name} imports {beyond}"


@pytest.mark.parametrize("part", ["ingest", "retrieval", "generation"])
def test_no_part_below_the_web_knows_flask_or_the_composition_root(part):
    for path in sources(part):
        text = path.read_text(encoding="utf-8")
        assert "import flask" not in text
        assert "from flask" not in text
        assert "folio.services" not in text


@pytest.mark.parametrize("part", PARTS)
def test_the_plain_names_are_ours(part):
    spec = importlib.util.find_spec(part)
    assert spec is not None
    assert Path(spec.origin).is_relative_to(ROOT)
    owners = set(importlib.metadata.packages_distributions().get(part, [])) - {"folio"}
    assert not owners, f"another distribution installs {part!r}: {owners}"


def test_help_imports_nothing_heavy():
    script = (
        "import sys, folio.cli as c\n"
        "try: c.folio.main(['--help'], standalone_mode=True)\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'faiss', 'flask', 'sqlalchemy', 'tantivy', 'openai'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Answers" in done.stdout or "answers questions" in done.stdout


@pytest.mark.parametrize("part", PARTS)
def test_no_file_is_two_ideas(part):
    for path in sources(part):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 400 or "migrations" in path.parts, f"{path.relative_to(ROOT)} has {lines} lines"
