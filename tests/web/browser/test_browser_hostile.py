"""What strangers write (titles, addresses, passages, keys' names) stays text on every page, and pages stay light."""

import time

import pytest
from playwright.sync_api import Page, expect

from folio.audit import AuditLog
from folio.keys import KeyStore

pytestmark = pytest.mark.browser

EVIL = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
MAX_BYTES = 300 * 1024


def stays_harmless(page: Page) -> bool:
    """Whether the hostile text is shown as text and nothing of it ran."""
    expect(page.locator("body")).to_contain_text("window.hacked=1")
    return not page.evaluate("window.hacked") and page.locator("img[src=x]").count() == 0


def test_a_hostile_title_is_text_in_the_list_the_document_and_its_receipt(folio, open_page) -> None:
    documents = folio.services.documents
    note = next(iter(documents.all.values()))
    documents.all[note.id] = note.model_copy(update={"title": EVIL, "uri": EVIL})
    page = open_page()
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title").first).to_contain_text("window.hacked=1")
    assert stays_harmless(page)
    page.locator("button.title", has_text="hacked").click()
    expect(page.locator("#detail-title")).to_contain_text("hacked")
    assert stays_harmless(page)
    page.locator("#detail").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog", name="Delete this document?").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog", name="Deleted")).to_contain_text("hacked")
    assert stays_harmless(page)


def test_a_hostile_question_comment_and_conversation_stay_text(folio, open_page) -> None:
    page = open_page()
    page.goto(folio.url)
    page.fill("#question", f"{EVIL} how often does the lamp turn?")
    page.keyboard.press("Enter")
    expect(page.locator(".actions")).to_be_visible()
    page.get_by_role("button", name="Bad answer").click()
    page.get_by_label("A word about it").fill(EVIL)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#toasts")).to_contain_text("Thank you")
    page.click("#show-history")
    expect(page.locator(".history-list")).to_contain_text("hacked")
    assert stays_harmless(page)
    page.goto(f"{folio.url}/quality")
    expect(page.locator(".marked-row .comment")).to_contain_text("hacked")
    assert stays_harmless(page)


def test_a_hostile_key_name_and_audit_line_stay_text(folio, open_page) -> None:
    store = KeyStore(folio.services.catalog)
    root = store.create(EVIL, ["admin"])
    AuditLog(folio.services.catalog).record(root.id, EVIL, EVIL, uri=EVIL)
    page = open_page()
    page.goto(f"{folio.url}/keys")
    page.fill("#signin-key", root.key)
    page.keyboard.press("Enter")
    expect(page.locator("#keys tbody tr")).to_have_count(1)
    assert stays_harmless(page)
    page.goto(f"{folio.url}/audit")
    expect(page.locator("#lines tbody tr").nth(1)).to_be_visible()
    assert stays_harmless(page)


def test_a_link_can_write_a_question_but_not_ask_it(folio, open_page) -> None:
    page = open_page()
    page.goto(f"{folio.url}/?q=Delete+everything")
    expect(page.locator("#question")).to_have_value("Delete everything")
    assert folio.services.answerer.asked == []


@pytest.mark.parametrize("path", ["/", "/documents", "/quality", "/keys", "/audit"])
def test_a_page_is_painted_without_the_model_and_weighs_at_most_300_kb(folio, open_page, path: str) -> None:
    folio.engine["state"] = "starting"
    replies = []
    page = open_page()
    page.on("response", lambda reply: replies.append(reply))  # noqa: PLW0108 (playwright marks what it is given)
    began = time.monotonic()
    page.goto(f"{folio.url}{path}")
    expect(page.locator("h1")).to_be_visible()
    painted = time.monotonic() - began
    page.wait_for_load_state("networkidle")
    sizes = {reply.url: len(reply.body()) for reply in replies if reply.ok}
    assert any(url.endswith("shell.js") for url in sizes)
    assert sum(sizes.values()) <= MAX_BYTES, sorted(sizes.items(), key=lambda item: -item[1])[:5]
    assert painted < 8  # nothing is waited for; what remains is this machine
