"""A container that comes again as it was costs nothing while all that it held is there; else it is opened again."""

import io
import zipfile
from email.message import EmailMessage

import pytest

from ingest.comparison import compare
from ingest.reading import reading_fingerprint
from ingest.service import Ingestion
from ingest.storage import FileStorage

INNER = {"first.txt": "The lamp was lit at dusk.", "second.txt": "The keeper slept until noon."}


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def mail(body, attachments):
    message = EmailMessage()
    message["Subject"] = "Lamps"
    message.set_content(body)
    for name, text in attachments.items():
        message.add_attachment(text.encode(), maintype="text", subtype="plain", filename=name)
    message.set_boundary("same-each-time")
    return bytes(message)


CONTAINERS = {
    "plain.zip": lambda: zipped(INNER),
    "nested.zip": lambda: zipped({"third.txt": "Oil came by boat.", "deep.zip": zipped(INNER)}),
    "mail.eml": lambda: mail("See the attached files.", INNER),
    "mail-in.zip": lambda: zipped({"mail.eml": mail("See the attached files.", INNER)}),
    "partly.zip": lambda: zipped({**INNER, "picture.png": b"\x89PNG"}),
}


@pytest.fixture(params=CONTAINERS)
def container(request, tmp_path):
    path = tmp_path / request.param
    path.write_bytes(CONTAINERS[request.param]())
    return path


def submit(folio, path):
    return folio.ingestion.submit_paths("default", [str(path)])


def documents(folio):
    return {item.uri: item for item in folio.documents.list("default").items}


def looked_at(folio, path):
    files = folio.ingestion.collect([str(path)], store=False)
    plan = compare(folio.catalog, "default", files, [str(path)], reading=reading_fingerprint(folio.settings))
    return {name: count for name, count in plan.counts.items() if count}


def test_a_whole_container_is_unchanged_without_any_work(folio, container):
    assert looked_at(folio, container) == {"new": 1}
    folio.work(submit(folio, container))
    before, embedded = documents(folio), len(folio.embedder.texts)
    again = submit(folio, container)
    assert (again.state, again.files.unchanged, again.files.total) == ("done", 1, 1)
    assert looked_at(folio, container) == {"unchanged": 1}
    assert (documents(folio), len(folio.embedder.texts)) == (before, embedded)


def test_only_documents_keep_bytes(folio, container):
    def stored():
        return {path.name for path in FileStorage(folio.settings.files_dir).everything()}

    for _ in range(2):
        folio.work(submit(folio, container))
        assert stored() == {folio.documents.get(item.id).sha256 for item in documents(folio).values()}


def test_a_container_brings_back_each_document_that_was_deleted(folio, container):
    folio.work(submit(folio, container))
    before = documents(folio)
    for uri, document in before.items():
        folio.documents.delete(documents(folio)[uri].id)
        assert looked_at(folio, container) == {"changed": 1}, uri
        folio.work(submit(folio, container))
        assert set(documents(folio)) == set(before), uri
        assert documents(folio)[uri].sha256 == document.sha256
    assert submit(folio, container).files.unchanged == 1


def test_a_container_with_a_member_that_failed_is_opened_again(folio, tmp_path):
    path = tmp_path / "bad.zip"
    path.write_bytes(zipped({**INNER, "bad.pdf": b"not a PDF"}))
    assert folio.work(submit(folio, path)).files.failed == 1
    assert looked_at(folio, path) == {"changed": 1}
    assert folio.work(submit(folio, path)).files.failed == 1


def test_earlier_bytes_of_a_container_undo_what_later_ones_brought(folio, tmp_path):
    path = tmp_path / "box.zip"
    first, second = zipped(INNER), zipped({**INNER, "more.txt": "A third lamp was bought."})
    for data in (first, second, first):
        path.write_bytes(data)
        folio.work(submit(folio, path))
    assert {item.title for item in documents(folio).values()} == {"first", "second"}


def test_other_chunk_settings_open_a_container_again(folio, container):
    folio.work(submit(folio, container))
    smaller = folio.settings.model_copy(update={"chunk_tokens": 64, "chunk_overlap_tokens": 0})
    job = Ingestion(folio.catalog, smaller, folio.collections).submit_paths("default", [str(container)])
    assert (job.files.unchanged, job.files.queued) == (0, 1)


def test_new_tags_reach_the_members_of_a_container_that_is_whole(folio):
    def file(**more):
        from ingest.views import IncomingFile

        stored = folio.ingestion.store_upload(io.BytesIO(zipped(INNER)), filename="box.zip", max_bytes=10**6)
        return IncomingFile("upload:box.zip", "box.zip", "application/zip", stored.sha256, stored.size_bytes, **more)

    folio.work(folio.ingestion.submit("default", [file()]))
    folio.work(folio.ingestion.submit("default", [file(tags=["sea"])]))
    assert {tuple(item.tags) for item in documents(folio).values()} == {("sea",)}
    assert folio.ingestion.submit("default", [file(tags=["sea"])]).files.unchanged == 1


def test_a_container_sent_again_by_the_same_key_leaves_no_bytes(folio):
    from ingest.views import IncomingFile

    jobs = set()
    for _ in range(2):
        stored = folio.ingestion.store_upload(io.BytesIO(zipped(INNER)), filename="box.zip", max_bytes=10**6)
        file = IncomingFile("upload:box.zip", "box.zip", "application/zip", stored.sha256, stored.size_bytes)
        job = folio.ingestion.submit("default", [file], idempotency_key="box")
        folio.work(job)
        jobs.add(job.id)
        assert not FileStorage(folio.settings.files_dir).path(stored.sha256).exists()
    assert len(jobs) == 1


def test_a_mail_whose_attachment_fails_each_time_keeps_its_version(folio, tmp_path):
    path = tmp_path / "mail.eml"
    path.write_bytes(mail("See the attached file.", {"broken.pdf": "not a PDF"}))
    for _ in range(2):
        job = folio.work(submit(folio, path))
        assert job.files.failed == 1
    assert {(item.title, item.version) for item in documents(folio).values()} == {("Lamps", 1)}
    assert (job.files.done, job.files.unchanged) == (0, 1)


def test_an_archive_that_breaks_off_is_not_taken_for_the_one_inside_it(folio, tmp_path):
    path = tmp_path / "outer.zip"
    whole = zipped({"one.txt": "The first lamp.", "inner.zip": zipped(INNER)})
    path.write_bytes(whole)
    folio.work(submit(folio, path))
    before = documents(folio)
    path.write_bytes(whole[:-40])
    [item] = folio.work(submit(folio, path)).items
    assert (item.state, item.reason_code) == ("failed", "corrupt")
    assert documents(folio) == before


def test_a_damaged_file_in_an_archive_fails_alone(folio, tmp_path):
    path = tmp_path / "partly.zip"
    path.write_bytes(zipped(INNER).replace(b"The lamp was lit", b"The lamp was not"))
    job = folio.work(submit(folio, path))
    assert [(item.title, item.reason_code) for item in job.items if item.state == "failed"] == [
        ("first.txt", "corrupt")
    ]
    assert [document.title for document in documents(folio).values()] == ["second"]
