"""The quality page with runs to plot, and the page that describes the API."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from folio.catalog.models import EvaluationRun

pytestmark = pytest.mark.browser

LOOKS = [(1280, "en-US", False), (390, "zh-CN", True)]


def evaluated(folio, kind: str, dataset: str, **figures: object) -> None:
    """Keep a run, as `folio eval` does."""
    with folio.services.catalog.write() as session:
        number = session.query(EvaluationRun).count()
        at = datetime(2026, 1, 1 + number, tzinfo=UTC)
        session.add(EvaluationRun(kind=kind, dataset=dataset, settings={}, figures=figures, created_at=at))


@pytest.mark.parametrize(("width", "language", "dark"), LOOKS)
def test_runs_are_plotted_over_time(
    folio, open_page, serious_violations, width: int, language: str, dark: bool
) -> None:
    for n in range(4):
        figures = {"n": 50, "ndcg@10": 0.6 + n / 20, "hit@1": 0.5, "latency_ms": {"p50": 10 + n, "p95": 30}}
        evaluated(folio, "retrieval", "data", **figures)
    evaluated(folio, "answers", "data", n=20, contains=0.8, refusal={"precision": 0.9, "recall": 1.0})
    page = open_page(width, language, dark)
    page.goto(f"{folio.url}/quality")
    runs = page.locator(".run")
    expect(runs).to_have_count(2)
    retrieval = runs.filter(has=page.locator(".plot"))
    expect(retrieval.locator(".plot")).to_have_count(4)
    expect(retrieval.locator(".figures li").first).to_contain_text("0.750")
    points = retrieval.locator(".plot polyline").first.get_attribute("points").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert heights == sorted(heights, reverse=True)
    retrieval.locator("summary").click()
    expect(retrieval.locator("tbody tr")).to_have_count(4)
    assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_api_s_own_page_describes_every_call_without_another_host(folio, open_page) -> None:
    page = open_page()
    hosts = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]) if "://" in request.url else None)
    page.goto(f"{folio.url}/docs")
    expect(page.locator(".opblock-summary-path", has_text="/api/v1/ask").first).to_be_visible()
    expect(page.locator(".opblock-summary-path", has_text="/v1/chat/completions")).to_be_visible()
    assert hosts == {folio.url.removeprefix("http://")}
