"""Journeys of an administrator: keys are made, shown once and revoked; the audit log tells of it."""

import re

import pytest
from playwright.sync_api import Page, expect

from folio.audit import AuditLog
from folio.keys import KeyStore

pytestmark = pytest.mark.browser

LOOKS = [(1280, "en-US", False), (1280, "zh-CN", True), (390, "zh-CN", False), (390, "en-US", True)]


def sign_in(page: Page, key: str) -> None:
    page.fill("#signin-key", key)
    page.keyboard.press("Enter")
    expect(page.locator("#signin-key")).to_have_count(0)


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_the_first_key_is_shown_once_and_keeps_its_maker_in(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    page.get_by_role("button", name=say("more")).click()
    page.get_by_role("link", name=say("keys.title")).click()
    expect(page.locator("#open-access")).to_be_visible()
    page.get_by_label(say("keys.name")).fill("Ada")
    page.get_by_label(re.compile(f"^{say('scope.admin')}")).check()
    page.get_by_role("button", name=say("keys.create")).click()
    dialog = page.get_by_role("dialog", name=say("keys.made", name="Ada"))
    secret = dialog.locator(".secret code").inner_text()
    assert KeyStore(folio.services.catalog).authenticate(secret).name == "Ada"
    dialog.get_by_role("button", name=say("copy")).click()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    dialog.get_by_role("button", name=say("close")).click()
    expect(page.locator("#keys")).to_contain_text("Ada")
    expect(page.locator("#open-access")).to_be_hidden()
    assert secret not in page.content()


def test_a_key_is_limited_and_revoked_and_the_log_tells_of_it(folio, reader) -> None:
    root = KeyStore(folio.services.catalog).create("Ada", ["admin"]).key
    page, say = reader
    page.goto(f"{folio.url}/keys")
    sign_in(page, root)
    page.get_by_label(say("keys.name")).fill("Reading room")
    page.get_by_label(say("keys.some")).check()
    page.get_by_role("button", name=say("keys.create")).click()
    expect(page.locator("#key-problem")).to_have_text(say("keys.needcollection"))
    page.get_by_label("default", exact=True).check()
    page.get_by_role("button", name=say("keys.create")).click()
    page.get_by_role("dialog").get_by_role("button", name=say("close")).click()
    row = page.locator("#keys tr", has_text="Reading room")
    expect(row).to_contain_text("default")
    expect(row).to_contain_text(say("keys.neverused"))
    page.get_by_role("button", name=say("keys.revoke.one", name="Reading room")).click()
    page.get_by_role("dialog").get_by_role("button", name=say("keys.revoke")).click()
    expect(page.locator("#keys")).not_to_contain_text("Reading room")
    page.locator("#revoked summary").click()
    expect(page.locator("#revoked")).to_contain_text("Reading room")
    page.goto(f"{folio.url}/audit")
    lines = page.locator("#lines tbody tr")
    expect(lines.nth(0)).to_contain_text(say("audit.key.revoke"))
    expect(lines.nth(1)).to_contain_text(f"Reading room · {say('scope.ask')}")
    expect(lines.nth(2)).to_contain_text(say("audit.session.sign_in"))
    expect(lines.nth(0)).to_contain_text("Ada")


def test_a_first_key_without_the_administrators_right_is_warned_of(folio, reader) -> None:
    page, say = reader
    page.goto(f"{folio.url}/keys")
    page.get_by_label(say("keys.name")).fill("Reader")
    page.get_by_role("button", name=say("keys.create")).click()
    warning = page.get_by_role("dialog", name=say("keys.lockout"))
    warning.get_by_role("button", name=say("cancel")).click()
    assert KeyStore(folio.services.catalog).list() == []


def test_who_is_no_administrator_is_told_so_and_sees_nothing(folio, reader) -> None:
    store = KeyStore(folio.services.catalog)
    store.create("Ada", ["admin"])
    asker = store.create("Reader", ["ask"]).key
    page, say = reader
    page.goto(f"{folio.url}/audit")
    sign_in(page, asker)
    expect(page.get_by_role("alert")).to_contain_text(say("problem.forbidden"))
    expect(page.locator("#lines tbody")).to_have_count(0)
    page.goto(f"{folio.url}/keys")
    expect(page.locator("#keys")).to_contain_text(say("problem.forbidden"))


def test_a_long_log_is_read_page_by_page(folio, reader) -> None:
    log = AuditLog(folio.services.catalog)
    for n in range(60):
        log.record("cli", "collection.create", f"collection {n}")
    page, say = reader
    page.goto(f"{folio.url}/audit")
    expect(page.locator("#lines tbody tr")).to_have_count(50)
    page.get_by_role("button", name=say("list.more")).click()
    expect(page.locator("#lines tbody tr")).to_have_count(61)
    expect(page.locator("#more-lines")).to_be_hidden()
    expect(page.locator("#lines tbody tr").nth(59)).to_contain_text("collection 0")


@pytest.mark.parametrize(("width", "language", "dark"), LOOKS)
def test_the_pages_for_administrators_are_accessible(
    folio, open_page, serious_violations, width: int, language: str, dark: bool
) -> None:
    store, log = KeyStore(folio.services.catalog), AuditLog(folio.services.catalog)
    root = store.create("Ada", ["admin"])
    store.revoke(store.create("Old laptop", ["ask", "ingest"], ["default"]).id)
    log.record(root.id, "document.delete", "d" * 32, collection="default", uri="upload:notes/a-long-name-of-a-file.md")
    page = open_page(width, language, dark)
    page.goto(f"{folio.url}/keys")
    sign_in(page, root.key)
    expect(page.locator("#keys tbody tr")).to_have_count(1)
    page.locator("#revoked summary").click()
    page.check("[value=some]")
    assert serious_violations(page) == []
    assert fits(page)
    page.click("#more")
    expect(page.locator("#who")).to_be_visible()
    assert serious_violations(page) == []
    page.goto(f"{folio.url}/audit")
    expect(page.locator("#lines tbody tr").nth(1)).to_be_visible()
    assert serious_violations(page) == []
    assert fits(page)
