"""What is known already costs nothing: no copy, no parsing, no embedding, and no worker."""

import pytest

from ingest.comparison import compare
from ingest.service import Ingestion


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.txt").write_text(f"Lamp {number} was lit at dusk.", encoding="utf-8")
    (folder / "zh.txt").write_text("灯塔在日落后亮起。", encoding="utf-8")
    return folder


def test_an_unchanged_folder_is_done_at_submission_without_copies_or_embedding(folio, folder):
    first = folio.work(folio.ingestion.submit_paths("default", [str(folder)]))
    assert (first.state, first.files.done) == ("done", 6)
    embedded, inodes = len(folio.embedder.texts), {path: path.stat().st_ino for path in folio.storage.everything()}
    again = folio.ingestion.submit_paths("default", [str(folder)])
    assert (again.state, again.files.unchanged, again.eta_s) == ("done", 6, 0.0)
    assert len(folio.embedder.texts) == embedded
    assert {path: path.stat().st_ino for path in folio.storage.everything()} == inodes
    assert all(item.document_id for item in again.items)


def test_only_what_changed_is_worked_on(folio, folder):
    folio.work(folio.ingestion.submit_paths("default", [str(folder)]))
    (folder / "3.txt").write_text("Lamp 3 was replaced.", encoding="utf-8")
    job = folio.ingestion.submit_paths("default", [str(folder)])
    assert (job.files.unchanged, job.files.queued) == (5, 1)
    embedded = len(folio.embedder.texts)
    assert folio.work(job).files.done == 1
    assert len(folio.embedder.texts) == embedded + 1


def test_a_file_whose_newer_version_still_waits_is_not_unchanged(folio, folder):
    path = folder / "0.txt"
    before = path.read_bytes()
    folio.work(folio.ingestion.submit_paths("default", [str(path)]))
    path.write_text("A newer one.", encoding="utf-8")
    newer = folio.ingestion.submit_paths("default", [str(path)])
    path.write_bytes(before)
    back = folio.ingestion.submit_paths("default", [str(path)])
    assert back.files.queued == 1
    folio.work(newer)
    folio.work(back)
    [document] = folio.documents.list("default").items
    assert folio.documents.text(document.id).text.encode() == before


def test_other_chunk_settings_read_unchanged_files_again(folio, folder):
    folio.work(folio.ingestion.submit_paths("default", [str(folder)]))
    smaller = folio.settings.model_copy(update={"chunk_tokens": 64, "chunk_overlap_tokens": 0})
    job = Ingestion(folio.catalog, smaller, folio.collections).submit_paths("default", [str(folder)])
    assert (job.files.unchanged, job.files.queued) == (0, 6)


def test_twins_are_embedded_once(folio, tmp_path):
    for name in ("one.txt", "two.txt", "three.txt"):
        (tmp_path / name).write_text("The very same words under three names.", encoding="utf-8")
    job = folio.work(folio.ingestion.submit_paths("default", [str(tmp_path / "*.txt")]))
    assert (job.files.done, folio.documents.list("default").total) == (3, 3)
    assert len(folio.embedder.texts) == 1


def test_looking_only_writes_nothing(folio, folder):
    files = folio.ingestion.collect([str(folder)], store=False)
    assert compare(folio.catalog, "default", files, [str(folder)], reading="").counts["new"] == 6
    assert list(folio.storage.everything()) == []
    assert folio.ingestion.jobs() == []


def test_a_batch_that_fails_leaves_no_half_files(folio, folder):
    def fail_after_two():
        with folio.storage.batch() as batch:
            for path in sorted(folder.iterdir())[:2]:
                batch.add(path, max_bytes=1000)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_after_two()
    assert list(folio.storage.everything()) == []
