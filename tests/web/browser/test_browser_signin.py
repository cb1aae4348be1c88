"""Signing in on the page with an API key, once a key exists."""

import pytest
from playwright.sync_api import expect

from folio.keys import KeyStore

pytestmark = pytest.mark.browser


def test_a_key_lets_the_reader_in_and_signing_out_ends_it(folio, reader, serious_violations) -> None:
    key = KeyStore(folio.services.catalog).create("Ada", ["ask"]).key
    page, say = reader
    page.goto(folio.url)
    dialog = page.get_by_role("dialog", name=say("signin.go"))
    expect(dialog).to_be_visible()
    assert serious_violations(page) == []
    dialog.get_by_label(say("signin.key")).fill("folio_wrong")
    dialog.get_by_role("button", name=say("signin.go")).click()
    expect(dialog.get_by_role("alert")).to_contain_text(say("signin.wrong"))
    dialog.get_by_label(say("signin.key")).fill(key)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    page.fill("#question", "How often does the lamp turn?")
    page.keyboard.press("Enter")
    expect(page.locator(".prose.final")).to_contain_text("The lamp")
    page.get_by_role("button", name=say("more")).click()
    expect(page.locator("#who")).to_have_text(say("signedin", name="Ada"))
    expect(page.get_by_role("link", name=say("keys.title"))).to_be_hidden()
    page.get_by_role("button", name=say("signout")).click()
    expect(page.get_by_role("dialog", name=say("signin.go"))).to_be_visible()
