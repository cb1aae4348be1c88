"""What the worker promises: no item is left waiting, unchanged files cost nothing, members follow their archive."""

import io
import threading
import zipfile

import pytest

from ingest import reasons
from ingest.lease import Leases
from ingest.worker import Worker
from retrieval.generations import Generations
from retrieval.search import Searcher


@pytest.fixture
def parts(folio):
    return folio.ingestion, folio.documents, folio.work


def test_an_item_whose_try_failed_is_tried_again(parts, catalog, settings):
    ingestion, _, finish = parts
    job = ingestion.submit_text("default", "Note", "The kettle boils at 100 degrees.")
    broken = Leases(catalog, "broken", lease_s=30, attempts=3)
    lease = broken.take(job.items[0].id)
    ingestion._queue._huey.flush()
    assert broken.fail(lease, reasons.CRASHED, "The parser crashed.")
    finished = finish(job)
    assert (finished.state, finished.files.done, finished.items[0].attempts) == ("done", 1, 2)


def test_unchanged_content_is_not_embedded_again_and_changed_content_replaces_it(parts):
    ingestion, documents, finish = parts
    first = finish(ingestion.submit_text("default", "Note", "The kettle boils at 100 degrees."))
    again = finish(ingestion.submit_text("default", "Note", "The kettle boils at 100 degrees."))
    assert (again.files.unchanged, again.chunks_done) == (1, 0)
    changed = finish(ingestion.submit_text("default", "Note", "The kettle boils at 95 degrees up here."))
    assert changed.items[0].document_id == first.items[0].document_id
    assert documents.get(first.items[0].document_id).version == 2
    assert "95" in documents.text(first.items[0].document_id).text


def test_members_of_an_archive_are_documents_and_go_when_it_no_longer_has_them(parts, tmp_path):
    ingestion, documents, finish = parts
    path = tmp_path / "notes.zip"

    def pack(**members):
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            for name, text in members.items():
                archive.writestr(f"folder/{name}.txt", text)
        path.write_bytes(inner.getvalue())

    pack(one="Salt dissolves in water.", two="Oil does not dissolve in water.")
    job = finish(ingestion.submit_paths("default", [str(path)]))
    assert job.files.done == 3
    assert documents.list("default").total == 2
    pack(one="Salt dissolves in water.")
    finish(ingestion.submit_paths("default", [str(path)]))
    assert [item.uri.rsplit("!/", 1)[1] for item in documents.list("default").items] == ["folder/one.txt"]


def test_an_archive_that_holds_itself_ends_and_costs_only_itself(parts, tmp_path):
    ingestion, documents, finish = parts
    data = b"bottom"
    for depth in range(6):
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr(f"level{depth}.zip" if depth else "level.txt", data)
            archive.writestr(f"beside{depth}.txt", f"This lies beside level {depth}.")
        data = inner.getvalue()
    (tmp_path / "deep.zip").write_bytes(data)
    (tmp_path / "neighbour.txt").write_text("The neighbour is an ordinary file.", encoding="utf-8")
    job = finish(ingestion.submit_paths("default", [str(tmp_path / "*.zip"), str(tmp_path / "neighbour.txt")]))
    assert job.is_finished
    failed = [item for item in job.items if item.state == "failed"]
    assert [(item.title, item.reason_code) for item in failed] == [("level3.zip", reasons.TOO_DEEP)]
    texts = sorted(item.title for item in documents.list("default").items)
    assert texts == ["beside3", "beside4", "beside5", "neighbour"]


def test_a_deleted_document_is_gone_everywhere_and_the_receipt_says_so(parts, catalog, settings, embedder):
    ingestion, documents, finish = parts
    finish(ingestion.submit_text("default", "Kettle", "The kettle boils at 100 degrees."))
    job = finish(ingestion.submit_text("default", "Zebra", "The zebra crossed the quixotic meadow."))
    document_id = job.items[0].document_id
    searcher = Searcher(catalog, embedder, settings)
    assert document_id in {passage.document_id for passage in searcher.search("quixotic zebra")}
    receipt = documents.delete(document_id)
    assert receipt.verified
    assert receipt.chunks_removed == 1
    assert document_id not in {passage.document_id for passage in searcher.search("quixotic zebra")}
    assert Generations(catalog, settings).verify(ingestion._collections.get("default").id) == []
    searcher.close()


def test_a_machine_that_did_none_of_the_work_publishes_it_on_its_own_disk(folio, tmp_path):
    job = folio.ingestion.submit("default", [folio.file("a.txt", "A lighthouse stood on the cliff.")])
    folio.work(job)
    elsewhere = folio.settings.model_copy(update={"data_dir": tmp_path / "elsewhere"})
    generations = Generations(folio.catalog, elsewhere)
    [behind] = generations.behind()
    assert folio.generations.behind() == []
    Worker(folio.catalog, folio.embedder, generations, elsewhere).run(
        threading.Event(), finished=lambda: not generations.behind()
    )
    assert generations.verify(behind) == []
