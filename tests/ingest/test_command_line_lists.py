"""`folio ingest` names what it does: each file and document of a dry run, each deletion, and what it leaves out."""

import json
import os
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner

from folio.cli import context, ingest_work
from folio.cli import ingest as command
from folio.cli.documents import documents
from folio.cli.jobs import jobs
from folio.errors import InvalidRequest
from ingest.worker import worker_lock


@pytest.fixture
def run(folio, monkeypatch):
    monkeypatch.setattr(context, "services", lambda: folio)
    monkeypatch.setattr(ingest_work, "POLL_S", 0.05)
    return lambda *arguments: CliRunner().invoke(command.ingest, [str(each) for each in arguments])


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("stays", "changes", "goes"):
        write(folder / f"{name}.txt", f"The {name} lamp.")
    return folder


def write(path, text):
    path.write_text(text, encoding="utf-8")


def titles(folio):
    return {item.title for item in folio.documents.list("default").items}


@pytest.fixture
def changed(folder, run):
    """The folder, ingested and then changed in every way."""
    (folder / "bad.pdf").write_bytes(b"not a PDF")
    run(folder)
    write(folder / "changes.txt", "Another lamp.")
    write(folder / "comes.txt", "A new lamp.")
    (folder / "goes.txt").unlink()
    return folder


def test_a_dry_run_names_each_file_and_what_would_happen(folio, changed, run):
    counts = "1 new, 1 changed, 1 unchanged, 1 failed before, 1 missing"
    lines = ["add: in/comes.txt", "replace: in/changes.txt", "try again, failed before (corrupt): in/bad.pdf", counts]
    kept = run(changed, "--dry-run").stdout.splitlines()
    assert kept == [*lines[:2], "file is gone, kept: in/goes.txt", *lines[2:]]
    deleted = run(changed, "--dry-run", "--delete-missing").stdout.splitlines()
    assert deleted == [*lines[:2], "delete: in/goes.txt", *lines[2:]]
    assert titles(folio) == {"stays", "changes", "goes"}


def test_a_dry_run_has_lists_and_counts_as_json(changed, run):
    said = json.loads(run(changed, "--dry-run", "--delete-missing", "--json").stdout)
    names = ("new", "changed", "unchanged", "failed_before", "missing")
    assert said["counts"] == {**dict.fromkeys(names, 1), "left_out": 0}
    shown = {name: [entry["address"] for entry in said[name]] for name in names}
    assert shown["missing"] == ["file:in/goes.txt"]
    assert shown["new"] == ["file:in/comes.txt"]
    assert said["failed_before"][0]["reason_code"] == "corrupt"


def test_a_file_that_failed_is_tried_again_by_a_real_run_and_forgotten_when_its_bytes_change(folder, run):
    bad = folder / "bad.pdf"
    bad.write_bytes(b"not a PDF")
    assert "failed (corrupt)" in run(folder).stderr
    assert "failed (corrupt)" in run(folder).stderr
    bad.write_bytes(b"not a PDF either")
    assert "add: in/bad.pdf" in run(folder, "--dry-run").stdout


def test_each_deleted_document_is_named_with_its_receipt(folio, changed, run):
    [gone] = [item for item in folio.documents.list("default").items if item.title == "goes"]
    result = run(changed, "--delete-missing")
    assert f"deleted: in/goes.txt (document {gone.id})" in result.stdout
    assert "1 unchanged, 1 failed, 1 deleted; searchable now." in result.stdout
    assert titles(folio) == {"stays", "changes", "comes"}


def test_deletions_are_in_the_json_with_their_receipts(folder, run):
    run(folder)
    (folder / "goes.txt").unlink()
    said = json.loads(run(folder, "--delete-missing", "--json").stdout)
    assert said["files"]["unchanged"] == 2
    [deleted] = said["deleted"]
    assert deleted["address"] == "file:in/goes.txt"
    assert deleted["receipt"]["verified"]


@pytest.fixture
def littered(folder):
    for name in ("one.png", "two.jpg", ".hidden.txt", "program.exe"):
        (folder / name).write_bytes(b"\x00")
    os.mkfifo(folder / "pipe.txt")
    (folder / "dangling.txt").symlink_to(folder / "nowhere.txt")
    (folder / ".git").mkdir()
    write(folder / ".git" / "config.txt", "Not for readers.")
    (folder / "linked").symlink_to(folder / ".git")
    return folder


LITTER = {
    "image": 2, "hidden file": 1, "hidden folder": 1, "linked folder": 1, "broken link": 1,
    "pipe, socket or device": 1, "file of another kind": 1,
}  # fmt: skip


def test_what_is_left_out_of_a_folder_is_counted_by_kind(folio, littered, run):
    result = run(littered)
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Left out: 2 images, ")
    for kind in set(LITTER) - {"image"}:
        assert f"1 {kind}" in last
    assert titles(folio) == {"stays", "changes", "goes"}
    assert json.loads(run(littered, "--json").stdout)["left_out"] == LITTER


def test_a_dry_run_lists_what_is_left_out(littered, run):
    said = run(littered, "--dry-run").stdout
    assert f"leave out (image): {littered / 'one.png'}" in said
    assert f"leave out (pipe, socket or device): {littered / 'pipe.txt'}" in said
    kinds = [each["kind"] for each in json.loads(run(littered, "--dry-run", "--json").stdout)["left_out"]]
    assert {kind: kinds.count(kind) for kind in kinds} == LITTER


def test_what_is_named_and_can_not_be_read_is_refused_with_a_reason(littered, run):
    pipe = run(littered / "pipe.txt")
    assert isinstance(pipe.exception, InvalidRequest)
    assert "neither a file nor a folder" in pipe.exception.message
    assert "failed (unsupported)" in run(littered / "one.png").stderr


def test_a_linked_file_goes_with_its_link(folio, folder, run, tmp_path):
    target, link = tmp_path / "elsewhere.txt", folder / "link.txt"
    write(target, "A lamp behind a link.")
    link.symlink_to(target)
    run(folder)
    assert "link" in titles(folio)
    link.unlink()
    assert "deleted: in/link.txt" in run(folder, "--delete-missing").stdout
    assert titles(folio) == {"stays", "changes", "goes"}
    assert target.exists()


def test_a_link_whose_file_is_gone_keeps_its_document(folio, folder, run, tmp_path):
    target = tmp_path / "elsewhere.txt"
    write(target, "A lamp behind a link.")
    (folder / "link.txt").symlink_to(target)
    run(folder)
    target.unlink()
    assert "1 broken link" in run(folder, "--delete-missing").stderr
    assert "link" in titles(folio)


def test_a_link_beside_the_file_it_leads_to_is_no_second_document(folio, folder, run):
    (folder / "a-link.txt").symlink_to(folder / "stays.txt")
    run(folder)
    assert titles(folio) == {"stays", "changes", "goes"}


def test_a_name_that_is_not_utf_8_is_taken_under_one_that_can_be_read(folio, folder, run):
    name = os.fsencode(folder) + b"/old\xff\xfename.txt"
    with open(name, "wb") as file:
        file.write(b"The old lamp.")
    assert run(folder).exit_code == 0
    assert "old��name.txt" in titles(folio) | {
        item.uri.rsplit("/", 1)[1] for item in folio.documents.list("default").items
    }
    again = run(folder, os.fsdecode(name))
    assert again.exit_code == 0
    assert "4 unchanged" in again.output
    os.remove(name)
    assert "1 deleted" in run(folder, "--delete-missing").output


def test_when_the_worker_that_it_follows_ends_the_command_does_the_rest(folio, folder, run):
    lock = worker_lock(folio.settings)
    with ThreadPoolExecutor(1) as threads:
        with lock:  # as a worker holds it that is killed before it takes a file
            running = threads.submit(run, folder)
            while not folio.ingestion.jobs():
                time.sleep(0.02)
            time.sleep(0.5)
            assert not running.done()
        result = running.result(60)
    assert (result.exit_code, titles(folio)) == (0, {"stays", "changes", "goes"})
    assert "does the rest itself" in result.output


def test_an_archive_is_not_counted_among_the_files_that_it_brought(folio, folder, run):
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("inside.txt", "A lamp in an archive.")
    assert "4 added, 0 unchanged, 0 failed" in run(folder).stdout
    assert len(titles(folio)) == 4


def test_names_are_readable_and_keep_to_their_line(folio, folder, run, monkeypatch):
    (folder / "第一章\n灯 🏮.pdf").write_bytes(b"not a PDF")
    done = run(folder)
    line = f"failed (corrupt) {folder}/第一章\ufffd灯 🏮.pdf: "
    assert line in done.stderr
    shown = CliRunner().invoke(jobs, ["show", folio.ingestion.jobs()[0].id])
    assert f"{folder}/第一章\ufffd灯 🏮.pdf" in shown.stdout
    listed = CliRunner().invoke(documents, [])
    assert f"{folder}/stays.txt" in listed.stdout
    assert "file://" not in shown.stdout + listed.stdout


def test_a_job_that_waits_without_a_worker_says_so(folio, folder, monkeypatch):
    monkeypatch.setattr(context, "services", lambda: folio)
    monkeypatch.setattr(context, "settings", lambda: folio.settings)
    job = folio.ingestion.submit_paths("default", [str(folder)])
    for line in ([], ["show", job.id]):
        assert "No worker runs" in CliRunner().invoke(jobs, line).stderr
    folio.work(job)
    assert not CliRunner().invoke(jobs, []).stderr
    assert CliRunner().invoke(jobs, ["show", job.id, "--state", "bogus"]).exit_code == 2


def test_an_empty_path_is_refused_and_is_not_the_folder_one_stands_in(folio, folder, run, monkeypatch):
    monkeypatch.chdir(folder)
    refused = run("").exception
    assert isinstance(refused, InvalidRequest)
    assert not folio.ingestion.jobs()
