"""Journeys on the documents page: adding, following a job, mending a failure, reading, deleting with a receipt."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def upload(name: str) -> dict[str, object]:
    return {"name": name, "mimeType": "text/plain", "buffer": b"words"}


def test_a_job_shows_its_progress_and_a_failure_can_be_retried(folio, reader) -> None:
    page, say = reader
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title").first).to_be_visible()
    page.set_input_files("#files", [upload("good.txt"), upload("strange.bad")])
    job = page.locator(".job").first
    expect(job.get_by_role("progressbar")).to_be_visible()
    expect(job).to_contain_text(say("job.rate", rate=8))
    expect(job).to_contain_text(say("job.count.failed", n=1))
    expect(job.locator(".job-problems")).to_contain_text(
        "Folio does not read this kind of file." if say.english else say("reason.unsupported")
    )
    job.get_by_role("button", name=say("job.retry")).click()
    expect(job).to_contain_text(say("job.files", ready=2, total=2))


def test_an_address_is_added_by_its_form(folio, reader) -> None:
    page, say = reader
    page.goto(f"{folio.url}/documents")
    page.get_by_role("button", name=say("add.url")).click()
    field = page.get_by_label(say("add.url.label"))
    expect(field).to_be_focused()
    field.fill("ftp://example.org/a")
    page.keyboard.press("Enter")
    expect(field).to_have_js_property("validity.valid", False)
    field.fill("https://example.org/page.html")
    page.keyboard.press("Enter")
    expect(page.locator(".job").first).to_contain_text(say("job.files", ready=1, total=1))
    expect(field).to_have_value("")
    field.fill("https://example.org/docs/")
    page.get_by_label(say("add.url.reach")).select_option(say("add.url.links"))
    page.keyboard.press("Enter")
    expect(page.locator(".job")).to_have_count(2)
    assert folio.services.ingestion.uris == ["https://example.org/page.html", "crawl:1:200:https://example.org/docs/"]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with a file, and one with a file in it."""
    folder = tmp_path / "notes"
    (folder / "old").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "old" / "b.txt").write_text("b")
    return folder


def test_a_folder_keeps_its_paths(folio, reader, notes) -> None:
    page, say = reader
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title").first).to_be_visible()
    page.set_input_files("#folder", notes)
    expect(page.locator(".job").first).to_contain_text(say("job.files", ready=2, total=2))
    assert sorted(folio.services.ingestion.uris) == ["upload:notes/a.txt", "upload:notes/old/b.txt"]


def test_a_folder_dropped_from_the_desktop_keeps_its_paths(folio, reader, notes) -> None:
    page, say = reader
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title").first).to_be_visible()
    devtools = page.context.new_cdp_session(page)  # scripts can't make a drag that carries a folder
    carried = {"items": [], "files": [str(notes)], "dragOperationsMask": 1}
    for moment in ("dragEnter", "dragOver", "drop"):
        devtools.send("Input.dispatchDragEvent", {"type": moment, "x": 200, "y": 200, "data": carried})
    expect(page.locator(".job").first).to_contain_text(say("job.files", ready=2, total=2))
    assert sorted(folio.services.ingestion.uris) == ["upload:notes/a.txt", "upload:notes/old/b.txt"]


def test_files_dropped_anywhere_are_added(folio, reader) -> None:
    page, say = reader
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title").first).to_be_visible()
    dropped = page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['words'], 'dropped.txt')); return data; }"
    )
    page.dispatch_event("body", "dragenter", {"dataTransfer": dropped})
    expect(page.locator("body")).to_have_class("dropping")
    page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    expect(page.locator(".job").first).to_contain_text(say("job.files", ready=1, total=1))
    assert folio.services.ingestion.uris == ["upload:dropped.txt"]


def test_the_list_is_searched_and_a_document_shows_its_text_and_chunks(folio, reader) -> None:
    page, say = reader
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title")).to_have_count(2)
    page.fill("#search", "light")
    expect(page.locator("button.title")).to_have_count(1)
    page.locator("button.title").click()
    expect(page.get_by_role("dialog")).to_contain_text("The lamp of the lighthouse has 1,200 watts.")
    page.get_by_role("tab", name=say("detail.chunks")).click()
    expect(page.locator(".chunk")).to_contain_text(say("tokens.many", n=12))


def test_a_deletion_answers_with_its_receipt(folio, reader) -> None:
    page, say = reader
    page.goto(f"{folio.url}/documents")
    page.get_by_role("button", name="Lighthouse").click()
    page.locator("#detail").get_by_role("button", name=say("delete")).click()
    page.get_by_role("dialog", name=say("detail.delete.sure")).get_by_role("button", name=say("delete")).click()
    receipt = page.get_by_role("dialog", name=say("receipt.title"))
    expect(receipt).to_contain_text(say("receipt.gone", place=say("receipt.dense")))
    expect(receipt).to_contain_text(say("receipt.verified"))
    receipt.get_by_role("button", name=say("close")).click()
    expect(page.locator("button.title")).to_have_count(1)


def test_a_collection_is_made_and_deleted(folio, reader) -> None:
    page, say = reader
    page.goto(f"{folio.url}/documents")
    page.get_by_role("button", name=say("collection.new")).click()
    page.get_by_label(say("collection.name")).fill("papers")
    page.get_by_role("button", name=say("collection.create")).click()
    expect(page.locator("#collection")).to_have_value("papers")
    page.get_by_role("button", name=say("collection.delete")).click()
    page.get_by_role("dialog").get_by_role("button", name=say("delete")).click()
    expect(page.locator("#collection")).to_have_value("default")
