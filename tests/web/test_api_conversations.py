"""The history of one's own questions, page by page."""

import pytest

from folio.keys import KeyStore


@pytest.fixture
def five(services):
    """Five conversations of a caller without a key, the newest last."""
    home = services.collections.get("default").id
    return [services.conversations.create(home, f"question {n}", "") for n in range(5)]


def test_conversations_are_listed_page_by_page_the_last_used_first(client, services, five):
    services.conversations.touch(five[0])
    first = client.get("/api/v1/conversations?limit=3").json
    rest = client.get("/api/v1/conversations", query_string={"limit": 3, "cursor": first["next_cursor"]}).json
    assert [item["id"] for item in first["items"] + rest["items"]] == [five[0], *reversed(five[1:])]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("cursor", ["nope", "2026-13-01_x", "_", "2026-01-01T00:00:00%00"])
def test_a_cursor_that_is_none_is_refused(client, cursor):
    reply = client.get(f"/api/v1/conversations?cursor={cursor}")
    assert (reply.status_code, reply.get_json(force=True)["code"]) == (400, "invalid_request")


def test_a_conversation_of_somebody_else_or_of_a_hidden_collection_is_not_there(client, services, five):
    keys = KeyStore(services.catalog)
    limited = keys.create("limited", ["ask"], ["mine"])
    other = {"Authorization": f"Bearer {limited.key}"}
    hidden = services.conversations.create(services.collections.get("default").id, "asked before", limited.id)
    assert client.get("/api/v1/conversations", headers=other).json["items"] == []
    for conversation in (five[0], hidden, "0" * 32):
        for method in ("GET", "DELETE"):
            reply = client.open(f"/api/v1/conversations/{conversation}", method=method, headers=other)
            assert reply.status_code == 404
            assert reply.get_json(force=True)["detail"] == f"There is no conversation {conversation!r}."
