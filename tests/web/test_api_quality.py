"""Evaluation runs and rated answers, page by page, to those who may see them."""

from datetime import UTC, datetime, timedelta

import pytest

from folio.catalog.models import Answer, EvaluationRun, Feedback
from folio.keys import KeyStore

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def records(services):
    """Five runs and five bad ratings, two of each at the same moment; the third answer belongs to nobody."""
    home = services.collections.get("default").id
    with services.catalog.write() as session:
        for n in range(5):
            at = BEGIN + timedelta(hours=n // 2)
            session.add(EvaluationRun(kind="retrieval", dataset=f"set {n}", settings={}, figures={}, created_at=at))
            texts = {
                "question": f"question {n}",
                "rewritten_question": "",
                "language": "en",
                "answer": "a",
                "model": "m",
            }
            session.add(Answer(id=f"{n}" * 32, collection_id=home, owner="", refused=False, receipt={}, **texts))
            session.add(Feedback(answer_id=f"{n}" * 32, rating=-1, comment="", created_at=at))


@pytest.mark.parametrize(("path", "name"), [("/api/v1/evaluations", "id"), ("/api/v1/feedback", "answer_id")])
def test_a_list_is_read_page_by_page_without_loss_or_repetition(client, records, path, name):
    whole = [item[name] for item in client.get(path).json["items"]]
    pages, cursor = [], ""
    while cursor is not None:
        page = client.get(path, query_string={"limit": 2, "cursor": cursor}).json
        pages.append([item[name] for item in page["items"]])
        cursor = page["next_cursor"]
    assert len(whole) == 5
    assert [key for page in pages for key in page] == whole


def test_a_key_sees_its_own_rated_answers_only(client, services, records):
    keys = KeyStore(services.catalog)
    reader, root = (keys.create(name, [name]).key for name in ("ask", "admin"))
    seen = [
        client.get("/api/v1/feedback", headers={"Authorization": f"Bearer {key}"}).json["items"]
        for key in (reader, root)
    ]
    assert [len(items) for items in seen] == [0, 5]
