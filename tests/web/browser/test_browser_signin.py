"""Signing in on the page with an API key, once a key exists."""

import pytest
from playwright.sync_api import expect

from folio.keys import KeyStore

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1280, 390])
def test_a_key_lets_the_reader_in_and_signing_out_ends_it(folio, open_page, serious_violations, width: int) -> None:
    key = KeyStore(folio.services.catalog).create("Ada", ["ask"]).key
    page = open_page(width)
    page.goto(folio.url)
    dialog = page.get_by_role("dialog", name="Sign in")
    expect(dialog).to_be_visible()
    assert serious_violations(page) == []
    dialog.get_by_label("API key").fill("folio_wrong")
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog.get_by_role("alert")).to_contain_text("not known")
    dialog.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    page.fill("#question", "How often does the lamp turn?")
    page.keyboard.press("Enter")
    expect(page.locator(".prose.final")).to_contain_text("The lamp")
    page.get_by_role("button", name="Menu").click()
    expect(page.locator("#who")).to_have_text("Signed in as Ada")
    expect(page.get_by_role("link", name="API keys")).to_be_hidden()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
