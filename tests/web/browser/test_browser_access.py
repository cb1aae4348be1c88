"""Every page in both widths, languages and themes: no serious accessibility violation, nothing too wide."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

LOOKS = [(1280, "en-US", False), (1280, "zh-CN", True), (390, "zh-CN", False), (390, "en-US", True)]


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize(("width", "language", "dark"), LOOKS)
def test_the_ask_page_is_accessible_in_every_state(
    folio, open_page, serious_violations, width: int, language: str, dark: bool
) -> None:
    page = open_page(width, language, dark)
    page.goto(folio.url)
    expect(page.locator("#collection option").first).to_be_attached()
    assert serious_violations(page) == []
    page.fill("#question", "How often does the lamp turn?")
    page.keyboard.press("Enter")
    expect(page.locator(".actions")).to_be_visible()
    page.locator(".making-button").click()
    expect(page.locator(".token-field")).to_be_visible()
    page.locator(".prose .cite").first.click()
    expect(page.locator("#source mark.hit")).to_be_visible()
    page.wait_for_timeout(300)  # the sheet's way in
    assert serious_violations(page) == []
    assert fits(page)


@pytest.mark.parametrize(("width", "language", "dark"), LOOKS)
def test_the_other_pages_are_accessible(
    folio, open_page, serious_violations, width: int, language: str, dark: bool
) -> None:
    page = open_page(width, language, dark)
    page.goto(f"{folio.url}/documents")
    expect(page.locator("button.title").first).to_be_visible()
    assert serious_violations(page) == []
    assert fits(page)
    page.locator("button.title").first.click()
    expect(page.get_by_role("tab").first).to_be_visible()
    assert serious_violations(page) == []
    page.goto(f"{folio.url}/quality")
    expect(page.locator("#marked .empty")).to_be_visible()
    assert serious_violations(page) == []
    assert fits(page)
