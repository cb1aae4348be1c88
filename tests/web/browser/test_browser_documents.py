"""Journeys on the documents page: adding, following a job, mending a failure, reading, deleting with a receipt."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def upload(name: str) -> dict[str, object]:
    return {"name": name, "mimeType": "text/plain", "buffer": b"words"}


@pytest.mark.parametrize("width", [1280, 390])
def test_a_job_shows_its_progress_and_a_failure_can_be_retried(folio, open_page, width: int) -> None:
    page = open_page(width)
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title").first).to_be_visible()
    page.set_input_files("#files", [upload("good.txt"), upload("strange.bad")])
    job = page.locator(".job").first
    expect(job.get_by_role("progressbar")).to_be_visible()
    expect(job).to_contain_text("8 chunks a second")
    expect(job).to_contain_text("1 failed")
    expect(job.locator(".job-problems")).to_contain_text("Folio does not read this kind of file.")
    job.get_by_role("button", name="Retry what failed").click()
    expect(job).to_contain_text("2 of 2 ready")


def test_an_address_is_added_by_its_form(folio, open_page) -> None:
    page = open_page()
    page.goto(f"{folio.url}/documents")
    page.get_by_role("button", name="Add a web page").click()
    field = page.get_by_label("Address")
    expect(field).to_be_focused()
    field.fill("ftp://example.org/a")
    page.keyboard.press("Enter")
    expect(field).to_have_js_property("validity.valid", False)
    field.fill("https://example.org/page.html")
    page.keyboard.press("Enter")
    expect(page.locator(".job").first).to_contain_text("1 of 1 ready")
    expect(field).to_have_value("")
    field.fill("https://example.org/docs/")
    page.get_by_label("How much of the site").select_option("and the pages it links to")
    page.keyboard.press("Enter")
    expect(page.locator(".job")).to_have_count(2)
    assert folio.services.ingestion.uris == ["https://example.org/page.html", "crawl:1:200:https://example.org/docs/"]


def test_a_folder_keeps_its_paths(folio, open_page, tmp_path) -> None:
    (tmp_path / "notes" / "old").mkdir(parents=True)
    (tmp_path / "notes" / "a.txt").write_text("a")
    (tmp_path / "notes" / "old" / "b.txt").write_text("b")
    page = open_page()
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title").first).to_be_visible()
    page.set_input_files("#folder", tmp_path / "notes")
    expect(page.locator(".job").first).to_contain_text("2 of 2 ready")
    assert sorted(folio.services.ingestion.uris) == ["upload:notes/a.txt", "upload:notes/old/b.txt"]


def test_files_dropped_anywhere_are_added(folio, open_page) -> None:
    page = open_page()
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title").first).to_be_visible()
    dropped = page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['words'], 'dropped.txt')); return data; }"
    )
    page.dispatch_event("body", "dragenter", {"dataTransfer": dropped})
    expect(page.locator("body")).to_have_class("dropping")
    page.dispatch_event("body", "drop", {"dataTransfer": dropped})
    expect(page.locator(".job").first).to_contain_text("1 of 1 ready")
    assert folio.services.ingestion.uris == ["upload:dropped.txt"]


def test_the_list_is_searched_and_a_document_shows_its_text_and_chunks(folio, open_page) -> None:
    page = open_page()
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title")).to_have_count(2)
    page.fill("#search", "light")
    expect(page.locator("button.title")).to_have_count(1)
    page.locator("button.title").click()
    expect(page.get_by_role("dialog")).to_contain_text("The lamp of the lighthouse has 1,200 watts.")
    page.get_by_role("tab", name="Chunks").click()
    expect(page.locator(".chunk")).to_contain_text("12 tokens")


def test_a_deletion_answers_with_its_receipt(folio, open_page) -> None:
    page = open_page()
    page.goto(f"{folio.url}/documents")
    page.get_by_role("button", name="Lighthouse").click()
    page.locator("#detail").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog", name="Delete this document?").get_by_role("button", name="Delete").click()
    receipt = page.get_by_role("dialog", name="Deleted")
    expect(receipt).to_contain_text("Not in the dense index any more")
    expect(receipt).to_contain_text("Checked: nothing returns it.")
    receipt.get_by_role("button", name="Close").click()
    expect(page.locator("button.title")).to_have_count(1)


def test_a_collection_is_made_and_deleted(folio, open_page) -> None:
    page = open_page()
    page.goto(f"{folio.url}/documents")
    page.get_by_role("button", name="New collection").click()
    page.get_by_label("Name").fill("papers")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#collection")).to_have_value("papers")
    page.get_by_role("button", name="Delete this collection").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("#collection")).to_have_value("default")
