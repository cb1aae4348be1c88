"""Lists that grow come page by page, all in the same way: `limit`, `cursor`, `next_cursor`."""

import httpx
import pytest

from folio.client import Folio
from folio.keys import KeyStore
from web.app import create_app

UNBOUNDED = {"/v1/models"}  # OpenAI's own interface knows no pages there


def walked(client, path: str, limit: int, **headers: str) -> list[list[dict[str, object]]]:
    """The items of a list, page by page."""
    pages, cursor = [], ""
    while cursor is not None:
        page = client.get(path, query_string={"limit": limit, "cursor": cursor}, headers=headers).json
        pages.append(page["items"])
        cursor = page["next_cursor"]
    return pages


def test_collections_are_listed_page_by_page_by_name(client, services):
    for name in ("delta", "alpha", "gamma", "beta"):
        services.collections.create(name)
    pages = walked(client, "/api/v1/collections", 2)
    assert [[item["name"] for item in page] for page in pages] == [["alpha", "beta"], ["default", "delta"], ["gamma"]]


def test_pages_of_a_limited_key_hold_its_own_collections_only(client, services):
    for name in ("a", "b", "c", "d"):
        services.collections.create(name)
    limited = KeyStore(services.catalog).create("limited", ["ask"], ["a", "d", "unmade"]).key
    pages = walked(client, "/api/v1/collections", 1, Authorization=f"Bearer {limited}")
    assert [[item["name"] for item in page] for page in pages] == [["a"], ["d"], []]


def test_keys_are_listed_page_by_page_the_newest_first(client, services):
    made = [KeyStore(services.catalog).create(f"key {n}", ["admin"]) for n in range(5)]
    pages = walked(client, "/api/v1/keys", 2, Authorization=f"Bearer {made[0].key}")
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [item["id"] for page in pages for item in page] == [key.id for key in reversed(made)]


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "cursor=nope"])
def test_a_page_of_keys_that_cannot_be_is_refused(client, query):
    assert client.get(f"/api/v1/keys?{query}").status_code == 400


def test_the_client_walks_all_pages_of_collections(services):
    for n in range(55):
        services.collections.create(f"c{n:02}")
    with Folio("http://localhost", transport=httpx.WSGITransport(app=create_app(services))) as folio:
        assert [item["name"] for item in folio.collections()] == [*(f"c{n:02}" for n in range(55)), "default"]


def test_every_list_of_the_api_has_pages(client):
    spec = client.get("/openapi.json").json
    schemas, lists = spec["components"]["schemas"], []
    for path, methods in spec["paths"].items():
        for content in methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {}).values():
            name = content.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
            fields = schemas.get(name, {}).get("properties", {})
            if path not in UNBOUNDED and not path.endswith("}") and {"items", "data"} & fields.keys():
                named = {parameter["name"] for parameter in methods["get"].get("parameters", [])}
                lists.append(path)
                assert {"limit", "cursor"} <= named, path
                assert "next_cursor" in fields, path
    assert len(lists) >= 8
