"""Journeys on the ask page, in a real browser: asking, reading sources, refusing, stopping, failing, going back."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

SIZES = [(1280, "en-US"), (390, "zh-CN")]
QUESTION = "How often does the lamp turn?"


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")


def test_a_citation_opens_its_document_with_the_words_highlighted(folio, reader) -> None:
    page = reader.page
    page.goto(folio.url)
    ask(page, QUESTION)
    expect(page.locator(".actions")).to_be_visible()
    page.locator(".prose .cite").first.click()
    mark = page.locator("#source mark.hit")
    expect(mark).to_have_text("It turns once every 12 seconds")
    expect(mark).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("#source")).to_be_hidden()


def test_a_pdf_citation_draws_its_page_with_the_words_marked(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    ask(page, QUESTION)
    page.locator(".prose .cite", has_text="2").click()
    expect(page.locator(".pdf-bar")).to_contain_text(say("pdf.page", page=2, pages=5))
    expect(page.locator(".pdf-mark")).to_be_in_viewport()
    assert "Attention" in page.locator(".text-layer").inner_text()
    inked = page.evaluate(
        "() => { const c = document.querySelector('.pdf-sheet canvas');"
        " return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v, i) => i % 4 < 3 && v < 90); }"
    )
    assert inked


def test_an_unsupported_sentence_is_marked_with_its_reason(folio, reader) -> None:
    page = reader.page
    page.goto(folio.url)
    ask(page, QUESTION)
    expect(page.locator(".sentence.unsupported")).to_contain_text("It was built in 1987")
    expect(page.locator(".sentence.supported").first).to_contain_text("The lamp")
    page.locator(".doubt-mark").focus()
    expect(page.get_by_role("tooltip")).to_contain_text("The year 1987 is not in the cited text.")


def test_what_the_model_writes_stays_text(folio, reader) -> None:
    page = reader.page
    page.goto(folio.url)
    ask(page, QUESTION)
    prose = page.locator(".prose.final")
    expect(prose).to_contain_text("<img src=x onerror=")
    expect(prose.locator("strong")).to_have_text("turns")
    expect(prose.locator("math")).to_have_count(1)
    expect(prose.locator("code")).to_have_text("code [1]")
    assert prose.locator("img, script, a").count() == 0


def test_a_table_and_code_in_an_answer_are_drawn_as_such(folio, reader) -> None:
    page = reader.page
    page.goto(folio.url)
    page.evaluate(
        """async () => {
            const { render } = await import("/static/js/markdown.js");
            const text = "| model | heads |\\n| --- | --- |\\n| Llama [1] | <b>32</b> |\\n\\n```\\nx = [1]\\n```";
            document.querySelector("h1").replaceWith(render(text, (n) => `(${n})`));
        }"""
    )
    expect(page.locator(".table-scroll th")).to_have_text(["model", "heads"])
    expect(page.locator(".table-scroll td")).to_have_text(["Llama(1)", "<b>32</b>"])
    expect(page.locator("pre code")).to_have_text("x = [1]")


def test_a_refusal_offers_the_nearest_passages(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    ask(page, "Who won the World Cup?")
    expect(page.locator(".refusal")).to_contain_text(say("refusal.title"))
    page.locator(".sources .source-row").first.click()
    expect(page.locator("#source mark.hit")).to_be_visible()


def test_escape_stops_an_answer_and_keeps_what_was_written(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    ask(page, "slow please")
    expect(page.locator(".prose")).to_contain_text("The lamp")
    page.keyboard.press("Escape")
    expect(page.locator(".stopped")).to_contain_text(say("turn.stopped"))
    expect(page.locator(".prose")).to_contain_text("The lamp")
    expect(page.locator("#send")).to_be_visible()


def test_a_failure_is_said_in_plain_words_and_can_be_tried_again(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    ask(page, "break it")
    expect(page.get_by_role("alert")).to_contain_text(say("problem.engine_failed"))
    expect(page.get_by_role("alert")).to_contain_text("in the middle of the answer")
    expect(page.get_by_role("alert").get_by_role("button", name=say("again"))).to_be_visible()


def test_while_the_model_loads_a_search_answers_and_the_question_waits(folio, reader) -> None:
    folio.engine["state"] = "starting"
    page, say = reader
    page.goto(folio.url)
    expect(page.locator("#engine-state")).to_have_text(say("engine.starting"))
    ask(page, QUESTION)
    expect(page.locator(".turn-status")).to_contain_text(say("turn.waiting"))
    folio.engine["state"] = "ready"
    expect(page.locator(".prose.final")).to_contain_text("The lamp")


def test_a_follow_up_goes_on_with_the_conversation_and_history_keeps_it(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    ask(page, QUESTION)
    expect(page.locator(".actions")).to_have_count(1)
    ask(page, "And who keeps it?")
    expect(page.locator(".actions")).to_have_count(2)
    page.reload()
    expect(page.locator(".question")).to_have_count(2)
    page.click("#new")
    expect(page.locator(".question")).to_have_count(0)
    page.click("#show-history")
    page.get_by_role("button", name=QUESTION, exact=False).first.click()
    expect(page.locator(".question")).to_have_text([QUESTION, "And who keeps it?"])
    if page.locator("#history").is_hidden():  # on a phone it would cover the conversation
        page.click("#show-history")
    page.get_by_role("button", name=say("history.delete", title=QUESTION)).click()
    expect(page.locator(".history-list")).to_contain_text(say("history.empty"))
    expect(page.locator(".question")).to_have_count(0)


def test_thumbs_with_a_word_reach_the_quality_page(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    ask(page, QUESTION)
    page.get_by_role("button", name=say("thumbs.down")).click()
    page.get_by_label(say("feedback.word")).fill("The year is wrong")
    page.get_by_role("button", name=say("feedback.send")).click()
    expect(page.locator("#toasts")).to_contain_text(say("feedback.thanks"))
    page.goto(f"{folio.url}/quality")
    expect(page.locator(".marked-row")).to_contain_text("The year is wrong")
    with page.expect_download() as download:
        page.click("#export")
    assert QUESTION in download.value.path().read_text("utf-8")


def test_copying_takes_the_sources_along(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    ask(page, QUESTION)
    page.get_by_role("button", name=say("copy")).click()
    expect(page.locator("#toasts")).to_contain_text(say("copied"))
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "[1] Lighthouse (lighthouse.txt)" in copied
    assert "It turns once every 12 seconds" in copied


def test_how_an_answer_was_made_shows_every_step(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    ask(page, QUESTION)
    page.get_by_role("button", name=say("making.title")).click()
    making = page.locator(".making")
    expect(making.locator(".step")).to_have_count(7)
    expect(making.locator("tr.dropped")).to_contain_text("The KV cache")
    expect(making).to_contain_text(say("tokens.many", n=250))
    making.locator(".tok", has_text="turns").hover()
    expect(making.locator(".inspector")).to_contain_text("shines")
    expect(making.locator(".inspector .taken")).to_contain_text("30.1 %")


def test_filters_and_settings_reach_the_question(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    page.get_by_role("button", name=say("options.title")).click()
    page.get_by_label(say("filter.type")).select_option("PDF")
    page.get_by_label(say("filter.language")).select_option("zh")
    page.get_by_label(say("filter.tags")).fill("papers, 2026")
    page.get_by_label(say("filter.after")).fill("2026-01-02")
    page.get_by_label(say("options.passages")).fill("3")
    page.get_by_label(say("options.tokens")).fill("50")
    ask(page, QUESTION)
    expect(page.locator(".actions")).to_be_visible()
    asked = folio.services.answerer.asked[-1]
    assert asked.filters.media_types == ("application/pdf",)
    assert (asked.filters.languages, asked.filters.tags) == (("zh",), ("papers", "2026"))
    assert asked.filters.modified_after.date().isoformat() == "2026-01-02"
    assert (asked.top_k, asked.sampling.max_tokens, asked.mode) == (3, 50, "answer")


def test_thinking_is_shown_on_request(folio, reader) -> None:
    page, say = reader
    page.goto(folio.url)
    ask(page, QUESTION)
    expect(page.locator(".actions")).to_be_visible()
    expect(page.locator(".thinking")).to_have_count(0)
    page.get_by_role("button", name=say("options.title")).click()
    page.get_by_label(say("options.thinking")).check()
    ask(page, "slow please")
    expect(page.locator(".thinking p")).to_have_text("The note says how often it turns.")
    expect(page.locator(".actions")).to_have_count(2)
    page.locator(".thinking summary").click()
    expect(page.locator(".thinking p")).to_be_visible()


@pytest.mark.parametrize(("width", "language"), SIZES)
def test_agent_mode_shows_what_the_model_did(folio, open_page, serious_violations, width: int, language: str) -> None:
    page = open_page(width, language)
    page.goto(folio.url)
    page.click("#options")
    page.get_by_label("让模型继续查找" if language == "zh-CN" else "Let the model search on").check()
    ask(page, QUESTION)
    expect(page.locator(".actions")).to_be_visible()
    assert folio.services.answerer.asked[-1].mode == "agent"
    page.click(".making-button")
    expect(page.locator(".making .step")).to_have_count(8)
    calls = page.locator(".step-agent .call")
    expect(calls).to_have_count(3)
    expect(calls.first).to_contain_text("keeper of the lamp")
    expect(calls.nth(2)).to_contain_text("2 new passages: Lighthouse")
    expect(page.locator(".timeline .agent .num")).to_have_text("1.77 s" if language != "zh-CN" else "1.77 秒")
    assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_passage_in_a_list_shows_the_part_that_fits_the_question(folio, open_page) -> None:
    page = open_page()
    page.goto(folio.url)
    shown = page.evaluate(
        """async () => {
            const { snippet } = await import("/static/js/ask/snippet.js");
            const draw = (text, question) => {
                const place = document.createElement("p");
                place.append(...snippet(text, question));
                return [place.textContent, [...place.querySelectorAll("mark")].map((mark) => mark.textContent)];
            };
            const filler = "Something else is told here. ".repeat(20);
            return [
                draw(`${filler}PagedAttention reduces fragmentation. ${filler}`, "What does PagedAttention reduce?"),
                draw(`${"这里讲别的事情。".repeat(40)}分页注意力减少显存碎片。`, "显存碎片怎么减少？"),
                draw("Short and without a match.", "zebra"),
                draw("<b>lamp</b>", "lamp"),
            ];
        }"""
    )
    english, chinese, none, markup = shown
    assert english[0].startswith("…")
    assert english[0].index("PagedAttention") < 60
    assert english[1] == ["PagedAttention", "reduces"]
    assert "显存碎片" in chinese[0][:80]
    assert none == ["Short and without a match.", []]
    assert markup == ["<b>lamp</b>", ["lamp"]]


def test_on_a_phone_every_tool_is_in_reach_while_the_model_loads(folio, open_page) -> None:
    folio.engine["state"] = "starting"
    for width in (390, 360):
        page = open_page(width)
        page.goto(folio.url)
        expect(page.locator("#engine-state")).to_have_text("Model loading")
        for tool in ("#language", "#theme", "#more"):
            box = page.locator(tool).bounding_box()
            assert box["x"] + box["width"] <= width
            page.locator(tool).click(trial=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_slash_focuses_the_question_and_the_switches_work(folio, open_page) -> None:
    page = open_page()
    page.goto(folio.url)
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.click("#language")
    expect(page.locator("h1")).to_have_text("向你的文档提问")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_broken_connection_goes_on_where_it_was(folio, reader) -> None:
    page = reader.page
    page.goto(folio.url)
    folio.cutter.cut_after = 4
    with page.expect_request(lambda request: "last-event-id" in request.headers):
        ask(page, "slow please")
    prose = page.locator(".prose.final")
    expect(prose).to_contain_text("It was built in 1987", timeout=20_000)
    assert prose.inner_text().count("The lamp") == 1
