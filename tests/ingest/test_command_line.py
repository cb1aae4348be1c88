"""`folio ingest`: watching sees what comes, changes and goes; `--dry-run` only looks."""

import pytest
from click.testing import CliRunner

from folio.cli import context
from folio.cli import ingest as command


@pytest.fixture
def run(folio, monkeypatch):
    """Runs the command on the test's Folio; each of `steps` happens in one pause of `--watch`, the last one ends it."""

    def invoke(*arguments, steps=()):
        left = list(steps)

        def pause(_seconds):
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr(context, "services", lambda: folio)
        monkeypatch.setattr(command, "WATCH_S", 5.0)
        monkeypatch.setattr(command, "POLL_S", 0.05)
        real_sleep = command.time.sleep
        monkeypatch.setattr(
            command.time, "sleep", lambda seconds: pause(seconds) if seconds == command.WATCH_S else real_sleep(seconds)
        )
        return CliRunner().invoke(command.ingest, list(arguments))

    return invoke


def titles(folio):
    return {item.title: item.version for item in folio.documents.list("default").items}


@pytest.mark.hostile
def test_watching_sees_new_changed_and_deleted_files_and_tries_a_bad_one_once(folio, run, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "stays.txt").write_text("This one stays.", encoding="utf-8")
    (folder / "bad.pdf").write_bytes(b"not a PDF")
    seen = []
    steps = [
        lambda: (folder / "comes.txt").write_text("This one comes.", encoding="utf-8"),
        lambda: (folder / "comes.txt").write_text("This one has changed.", encoding="utf-8"),
        lambda: (seen.append(titles(folio)), (folder / "stays.txt").unlink()),
        lambda: None,
    ]
    result = run(str(folder), "--watch", "--delete-missing", steps=steps)
    assert result.exception is None or result.exit_code in (1, 130), result.output
    assert seen == [{"stays": 1, "comes": 2}]
    assert titles(folio) == {"comes": 2}
    tried = [item.uri for job in folio.ingestion.jobs() for item in job.items]
    assert sum(uri.endswith("bad.pdf") for uri in tried) == 1


def test_a_dry_run_counts_and_writes_nothing(folio, run, tmp_path):
    (tmp_path / "a.txt").write_text("One.", encoding="utf-8")
    result = run(str(tmp_path / "a.txt"), "--dry-run")
    assert result.output == "1 new, 0 changed, 0 unchanged, 0 missing\n"
    assert folio.ingestion.jobs() == []
    assert not folio.settings.files_dir.exists()
