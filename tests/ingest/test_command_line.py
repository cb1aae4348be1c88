"""`folio ingest`: watching sees what comes, changes and goes; `--dry-run` only looks."""

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from folio.cli import context, ingest_work
from folio.cli import ingest as command
from folio.cli.documents import documents
from folio.cli.jobs import jobs
from folio.errors import InvalidRequest
from ingest import sources


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
        monkeypatch.setattr(ingest_work, "POLL_S", 0.05)
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


def test_lists_on_the_servers_own_command_line_name_the_whole_place(folio, run, tmp_path):
    (tmp_path / "a.txt").write_text("One.", encoding="utf-8")
    run(str(tmp_path))
    whole = str(tmp_path / "a.txt")
    [job] = folio.ingestion.jobs()
    lines = ((documents, []), (documents, ["--json"]), (jobs, ["--json"]), (jobs, ["show", job.id]))
    assert [whole in CliRunner().invoke(*line).output for line in lines] == [True] * 4
    assert f"chunks  {str(tmp_path)[:60]}" in CliRunner().invoke(jobs).output
    assert whole not in folio.documents.list("default").model_dump_json()


def test_a_dry_run_counts_and_writes_nothing(folio, run, tmp_path):
    (tmp_path / "a.txt").write_text("One.", encoding="utf-8")
    result = run(str(tmp_path / "a.txt"), "--dry-run")
    assert result.output == "add: a.txt\n1 new, 0 changed, 0 unchanged, 0 failed before, 0 missing\n"
    assert folio.ingestion.jobs() == []
    assert not folio.settings.files_dir.exists()


def write(path, text="Some words of its own."):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{path.stem}: {text}", encoding="utf-8")
    return path


def test_a_named_file_that_vanishes_is_said_once_and_taken_again_when_it_is_back(folio, run, tmp_path):
    stays, goes = write(tmp_path / "stays.txt"), write(tmp_path / "goes.txt")
    seen = []
    steps = [
        goes.unlink,
        lambda: seen.append(titles(folio)),
        lambda: write(goes, "Back with other words."),
        lambda: seen.append(titles(folio)),
    ]
    result = run(str(stays), str(goes), "--watch", "--delete-missing", steps=steps)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit), result.output
    assert seen == [{"stays": 1}, {"stays": 1, "goes": 1}]
    assert result.stderr.count("goes.txt is not there any more") == 1
    assert "stays.txt" not in result.stderr


def test_folders_that_are_gone_or_empty_as_a_whole_keep_their_documents(folio, run, tmp_path):
    gone, unmounted, there = tmp_path / "gone", tmp_path / "unmounted", tmp_path / "there"
    for folder in (gone, unmounted, there):
        write(folder / f"in_{folder.name}.txt")
    seen = []

    def take_away():
        shutil.rmtree(gone)
        (unmounted / "in_unmounted.txt").unlink()
        (there / "in_there.txt").rename(there / "renamed.txt")

    steps = [
        take_away,
        lambda: seen.append(titles(folio)),
        lambda: (write(gone / "in_gone.txt"), write(unmounted / "another.txt")),
        lambda: seen.append(titles(folio)),
    ]
    result = run(str(gone), str(unmounted), str(there), "--watch", "--delete-missing", steps=steps)
    assert isinstance(result.exception, SystemExit), result.exception
    kept = {"in_gone": 1, "renamed": 1}
    assert seen == [{**kept, "in_unmounted": 1}, {**kept, "another": 1}]
    assert result.stderr.count("Its 1 documents are kept") == 2
    assert result.stderr.count("is not there any more") == 1


def test_a_named_file_on_a_disk_that_is_gone_keeps_its_document(folio, run, tmp_path, monkeypatch):
    path, disks = write(tmp_path / "on_disk.txt"), [2]
    monkeypatch.setattr(sources, "disk_of", lambda _source: disks[-1])
    run(str(path), "--watch", "--delete-missing", steps=[lambda: (path.unlink(), disks.append(1)), lambda: None])
    assert titles(folio) == {"on_disk": 1}


def test_a_missing_path_is_an_error_without_watching_and_at_the_first_look(folio, run, tmp_path):
    for options in ([], ["--watch"]):
        result = run(str(tmp_path / "never.txt"), *options)
        assert isinstance(result.exception, InvalidRequest)
        assert "never.txt" in result.exception.message


@pytest.mark.parametrize("store", [True, False])
def test_a_file_that_vanishes_while_a_folder_is_read_is_passed_over(folio, tmp_path, monkeypatch, store):
    for name in ("a", "b", "c"):
        write(tmp_path / f"{name}.txt")
    missing = []
    real = sources.FoundFile

    def vanish(*fields):
        """The first is gone once it was looked at, the second before that."""
        (tmp_path / "a.txt").unlink(missing_ok=True)
        (tmp_path / "b.txt").unlink(missing_ok=True)
        return real(*fields)

    monkeypatch.setattr(sources, "FoundFile", vanish)
    files = folio.ingestion.collect([str(tmp_path)], store=store)
    assert [file.title for file in files] == ["c.txt"]
    files = folio.ingestion.collect([str(write(tmp_path / "a.txt"))], store=store, on_missing=missing.append)
    assert (files, missing) == ([], [str(tmp_path / "a.txt")])


def test_what_may_not_be_read_is_left_out_and_said_and_its_documents_stay(folio, run, tmp_path, monkeypatch):
    folder = tmp_path / "in"
    (folder / "closed").mkdir(parents=True)
    for name in ("open.txt", "locked.txt", "closed/inside.txt"):
        (folder / name).write_text(f"This is {name}.", encoding="utf-8")
    run(str(folder))
    assert set(titles(folio)) == {"open", "locked", "inside"}
    refused = {str(folder / "locked.txt"), str(folder / "closed")}
    walk, access, opened = os.walk, os.access, Path.open

    def faulty_walk(top, onerror):  # who runs the tests may read everything
        for parent, folders, names in walk(top):
            if parent in refused:
                onerror(PermissionError(13, "Permission denied", parent))
            else:
                yield parent, folders, names

    def faulty_open(path, *arguments, **options):
        if str(path) in refused:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(sources.os, "walk", faulty_walk)
    monkeypatch.setattr(Path, "open", faulty_open)
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) not in refused and access(path, mode))
    result = run(str(folder), "--delete-missing")
    assert result.exception.reason == "files_failed"
    assert all(f"{path} can't be read" in result.output for path in refused)
    assert set(titles(folio)) == {"open", "locked", "inside"}
    with pytest.raises(InvalidRequest, match="can't be read"):
        folio.ingestion.collect([str(folder)])


def test_a_file_that_could_not_be_read_and_then_vanishes_does_not_end_watching(folio, run, tmp_path, monkeypatch):
    stays, locked = write(tmp_path / "stays.txt"), write(tmp_path / "locked.txt")
    opened = Path.open

    def faulty_open(path, *arguments, **options):
        if path == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", faulty_open)
    monkeypatch.setattr(os, "access", lambda path, _mode: path != locked)
    result = run(str(stays), str(locked), "--watch", steps=[locked.unlink, lambda: None])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.stderr.count("locked.txt can't be read") == 1
    assert result.stderr.count("locked.txt is not there any more") == 1
