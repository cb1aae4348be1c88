"""Whoever ingests, deletes or changes keys leaves a line in the audit log, through whichever door."""

import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from folio import cli
from folio.actor import acting_as, system_user
from folio.audit import AuditLog
from folio.cli import collections, context, ingest_work
from folio.cli import ingest as ingest_command
from folio.errors import Conflict, NotFound
from folio.keys import KeyStore

HERE = f"cli:{system_user()}"
PROGRAM = f"local:{system_user()}"


@pytest.fixture
def inbox(tmp_path) -> Path:
    """An empty folder beside the Folio's own."""
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def line(folio, settings, monkeypatch):
    """Runs `folio ...` on the test's Folio and gives what it printed."""
    for place in (context, collections):
        monkeypatch.setattr(place, "services", lambda: folio)
    monkeypatch.setattr(context, "settings", lambda: settings)
    monkeypatch.setattr(ingest_work, "POLL_S", 0.05)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli.folio, list(arguments))
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def acts(folio) -> list[tuple[str, str, str]]:
    """Actor, action and subject of each line, oldest first."""
    return [(line.actor, line.action, line.subject) for line in reversed(AuditLog(folio.catalog).lines())]


def test_every_change_on_the_command_line_leaves_a_line_with_the_systems_user(folio, line, inbox):
    (inbox / "a.txt").write_text("A lighthouse.", encoding="utf-8")
    line("ingest", str(inbox))
    [job] = folio.ingestion.jobs()
    [document] = folio.documents.list("default").items
    line("documents", "delete", document.id)
    line("collections", "create", "spare")
    line("collections", "delete", "spare", "--yes")
    key = json.loads(line("keys", "create", "me", "--json"))["id"]
    line("keys", "revoke", key)
    assert acts(folio) == [
        (HERE, "collection.create", "default"), (HERE, "documents.ingest", job.id),
        (HERE, "document.delete", document.id), (HERE, "collection.create", "spare"),
        (HERE, "collection.delete", "spare"), (HERE, "key.create", key), (HERE, "key.revoke", key),
    ]  # fmt: skip
    lines = {line.action: line.detail for line in AuditLog(folio.catalog).lines()}
    assert lines["document.delete"] == {"collection": "default", "uri": (inbox / "a.txt").as_uri()}
    assert lines["documents.ingest"] == {"collection": "default", "files": 1}
    assert lines["key.create"] == {"name": "me", "scopes": ["ask"]}


def test_jobs_cancelled_and_retried_on_the_command_line_leave_lines(folio, line):
    job = folio.ingestion.submit("default", [folio.file("a.txt", "One.")])
    line("jobs", "cancel", job.id)
    line("jobs", "retry", job.id)
    assert acts(folio)[-2:] == [(HERE, "job.cancel", job.id), (HERE, "job.retry", job.id)]


def test_a_watched_folder_leaves_a_line_for_each_ingest_and_each_deletion(folio, line, inbox, monkeypatch):
    names = ("stays.txt", "goes.txt")
    for name in names:
        (inbox / name).write_text(f"The file {name}.", encoding="utf-8")
    pauses = [(inbox / "goes.txt").unlink, lambda: None]
    really_sleep = ingest_command.time.sleep

    def pause(seconds: float) -> None:
        if seconds != ingest_command.WATCH_S:
            really_sleep(seconds)
        elif not pauses:
            raise KeyboardInterrupt
        else:
            pauses.pop(0)()

    monkeypatch.setattr(ingest_command.time, "sleep", pause)
    CliRunner().invoke(cli.folio, ["ingest", str(inbox), "--watch", "--delete-missing"])
    found = [(actor, action) for actor, action, _ in acts(folio)]
    assert found == [(HERE, "collection.create"), (HERE, "documents.ingest"), (HERE, "document.delete")]


def archive(path: Path, *names: str) -> str:
    with zipfile.ZipFile(path, "w") as written:
        for name in names:
            written.writestr(name, f"The member {name} tells of ships.")
    return str(path)


def test_a_member_that_its_container_lost_is_deleted_in_the_name_of_who_sent_the_container(folio, tmp_path):
    path = tmp_path / "a.zip"
    with acting_as("somebody"):
        folio.work(folio.ingestion.submit_paths("default", [archive(path, "a.txt", "b.txt")]))
    gone = {item.title: item.id for item in folio.documents.list("default").items}["b"]
    with acting_as("somebody else"):
        job = folio.work(folio.ingestion.submit_paths("default", [archive(path, "a.txt")]))
    newest = AuditLog(folio.catalog).lines()[0]
    assert (newest.actor, newest.action, newest.subject) == ("somebody else", "document.delete", gone)
    assert newest.detail == {"uri": f"{path.as_uri()}!/b.txt", "job": job.id}


def test_what_fails_or_changes_nothing_leaves_no_line(folio):
    key = KeyStore(folio.catalog).create("me", ["ask"])
    for _ in range(2):
        KeyStore(folio.catalog).revoke(key.id)
    folio.collections.create("default")
    for _ in range(2):
        folio.ingestion.submit("default", [folio.file("a.txt", "One.")], idempotency_key="k")
    with pytest.raises(Conflict):
        folio.collections.create("default")
    with pytest.raises(NotFound):
        folio.documents.delete("0" * 32)
    actions = ["key.create", "key.revoke", "collection.create", "documents.ingest"]
    assert [(actor, action) for actor, action, _ in acts(folio)] == [(PROGRAM, action) for action in actions]
