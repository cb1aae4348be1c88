"""Documents through the door: in, listed, read, and gone with a receipt. Real ingestion, real index."""

import io
import json

import httpx
import pytest
from sqlalchemy import update

from folio.catalog.models import Document
from folio.keys import KeyStore

TEXT = "# Caches\n\nPagedAttention keeps the KV cache in blocks.\n\n键值缓存按块存放。\n"


def bearer(key: str) -> dict[str, str]:
    """The header that sends a key."""
    return {"Authorization": f"Bearer {key}"}


def upload(client, *files: tuple[str, bytes], headers: dict | None = None, **fields: object):
    """Send files as a browser does."""
    data = {"files": [(io.BytesIO(content), name) for name, content in files], **fields}
    return client.post("/api/v1/documents", data=data, headers=headers or {})


@pytest.fixture
def document(client, work) -> dict:
    """A document that was uploaded and ingested."""
    work(upload(client, ("notes/cache.md", TEXT.encode()), tags=["a", "b"], meta='{"by": "Li"}').json["job_id"])
    [found] = client.get("/api/v1/documents").json["items"]
    return found


def test_an_uploaded_file_becomes_a_document_that_search_finds(client, document):
    assert (document["uri"], document["media_type"]) == ("upload:notes/cache.md", "text/markdown")
    assert (document["tags"], document["meta"]) == (["a", "b"], {"by": "Li"})
    found = client.post("/api/v1/search", json={"query": "KV cache blocks"}).json["passages"][0]
    text = client.get(f"/api/v1/documents/{document['id']}/text").json["text"]
    assert found["text"] == text[found["start"] : found["end"]]


def test_the_job_tells_how_it_went(client, work):
    accepted = upload(client, ("good.md", TEXT.encode()), ("bad.xyz", b"\x00\x01\x02"))
    assert (accepted.status_code, accepted.headers["Location"]) == (202, f"/api/v1/jobs/{accepted.json['job_id']}")
    waiting = client.get(accepted.headers["Location"]).json
    assert (waiting["state"], waiting["files"]["total"], waiting["files"]["queued"]) == ("queued", 2, 2)
    work(accepted.json["job_id"])
    job = client.get(accepted.headers["Location"]).json
    assert (job["files"]["done"], job["files"]["failed"]) == (1, 1)
    assert {item["state"]: bool(item["reason"]) for item in job["items"]} == {"done": False, "failed": True}
    assert client.get("/api/v1/jobs").json["items"][0]["id"] == job["id"]
    assert client.post(f"/api/v1/jobs/{job['id']}/cancel").status_code == 409
    assert client.post(f"/api/v1/jobs/{job['id']}/retry").json["state"] == "queued"
    assert client.post(f"/api/v1/jobs/{job['id']}/cancel").json["state"] == "cancelled"


def test_all_files_of_a_job_are_listed_page_by_page_and_by_state(client, work):
    files = [(f"{number}.md", TEXT.encode() + bytes([48 + number])) for number in range(4)]
    job_id = upload(client, *files, ("bad.xyz", b"\x00\x01\x02")).json["job_id"]
    address = f"/api/v1/jobs/{job_id}/items"
    seen, cursor = [], ""
    while cursor is not None:
        page = client.get(address, query_string={"limit": 2, "cursor": cursor}).json
        seen += [item["title"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert seen == ["0.md", "1.md", "2.md", "3.md", "bad.xyz"]
    work(job_id)
    [failed] = client.get(address, query_string={"state": "failed"}).json["items"]
    assert (failed["title"], failed["reason_code"]) == ("bad.xyz", "unsupported")
    assert len(client.get(address, query_string={"state": "done"}).json["items"]) == 4
    for wrong in ({"state": "lost"}, {"cursor": "x"}, {"limit": 0}):
        assert client.get(address, query_string=wrong).status_code == 400
    assert client.get("/api/v1/jobs/none/items").status_code == 404


def test_a_text_and_an_address_are_taken_too(client, services):
    text = client.post("/api/v1/documents", json={"title": "A note", "text": "Short."})
    assert text.status_code == 202
    url = client.post("/api/v1/documents", json={"url": "https://example.com/a.html"})
    assert services.ingestion.job(url.json["job_id"]).items[0].uri == "https://example.com/a.html"


@pytest.mark.parametrize(
    ("site", "uri"),
    [
        ({"crawl": {"depth": 2, "max_pages": 9}}, "crawl:2:9:https://example.com/"),
        ({"crawl": {}}, "crawl:1:200:https://example.com/"),
        ({"sitemap": {}}, "sitemap:200:https://example.com/"),
    ],
)
def test_a_site_is_taken_by_its_links_or_its_map(client, services, site, uri):
    sent = client.post("/api/v1/documents", json={"url": "https://example.com/", **site})
    assert sent.status_code == 202
    assert services.ingestion.job(sent.json["job_id"]).items[0].uri == uri


@pytest.mark.parametrize(
    "body",
    [
        {"url": "https://example.com/", "crawl": {}, "sitemap": {}},
        {"url": "https://example.com/", "crawl": {"depth": 99}},
        {"url": "https://example.com/", "sitemap": {"max_pages": 0}},
        {"url": "https://example.com/", "sitemap": {"depth": 1}},
        {"title": "a text is no site", "text": "a", "crawl": {}},
        {"url": "file:///etc/passwd"},
        {"url": "ftp://example.com"},
        {"text": "no title"},
        {"title": "no text"},
        {"title": "blank", "text": " "},
        {},
        {"text": "a", "title": "b", "collection": ""},
        {"text": "a", "title": "b", "meta": {"n": 1}},
    ],
)
def test_what_cannot_be_ingested_is_refused(client, body):
    assert client.post("/api/v1/documents", json=body).status_code == 400


def test_a_form_without_files_or_with_a_bad_meta_is_refused(client):
    assert upload(client).status_code in (400, 415)
    assert upload(client, ("a.md", b"a"), meta="[1]").status_code == 400
    assert upload(client, ("a.md", b"a"), meta="{").status_code == 400


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("../../etc/passwd", "upload:etc/passwd"),
        ("/etc/./passwd", "upload:etc/passwd"),
        ("文档/说明.md", "upload:文档/说明.md"),
    ],
)
def test_a_file_name_can_neither_climb_nor_confuse(client, services, name, uri):
    job = upload(client, (name, b"text"))
    assert services.ingestion.job(job.json["job_id"]).items[0].uri == uri


def test_an_idempotency_key_makes_a_repeated_upload_do_nothing_again(client, services):
    headers = {"Idempotency-Key": "once"}
    first = upload(client, ("a.md", b"one"), headers=headers)
    again = upload(client, ("a.md", b"one"), headers=headers)
    other = upload(client, ("a.md", b"two"), headers=headers)
    assert first.json["job_id"] == again.json["job_id"]
    assert (other.status_code, other.get_json(force=True)["code"]) == (409, "conflict")
    assert len(client.get("/api/v1/jobs").json["items"]) == 1


def test_two_callers_with_the_same_idempotency_key_do_not_meet(client, services):
    keys = KeyStore(services.catalog)
    one, two = (keys.create(name, ["ingest"]).key for name in ("one", "two"))
    jobs = {
        upload(client, ("a.md", b"x"), headers={"Idempotency-Key": "k", **bearer(key)}).json["job_id"]
        for key in (one, two)
    }
    assert len(jobs) == 2


@pytest.mark.parametrize(
    ("settings_changed", "sizes"),
    [({"max_file_mib": 1}, [2**20 + 1]), ({"max_upload_mib": 1}, [700_000, 700_000])],
)
def test_what_is_too_large_is_refused(client_with, settings_changed, sizes):
    transport = httpx.WSGITransport(app=client_with(**settings_changed).application)
    files = [("files", (f"{n}.md", b"x" * size)) for n, size in enumerate(sizes)]
    with httpx.Client(transport=transport, base_url="http://localhost") as http:
        reply = http.post("/api/v1/documents", files=files)
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")


def test_a_document_has_an_etag_that_saves_the_body(client, document):
    for part in ("", "/text", "/chunks"):
        path = f"/api/v1/documents/{document['id']}{part}"
        first = client.get(path)
        again = client.get(path, headers={"If-None-Match": first.headers["ETag"]})
        assert (first.status_code, again.status_code, again.data) == (200, 304, b"")


def test_a_new_version_changes_the_etag(client, document, work):
    path = f"/api/v1/documents/{document['id']}"
    before = client.get(path)
    work(upload(client, ("notes/cache.md", b"# Other\n\nNew text.\n")).json["job_id"])
    after = client.get(path, headers={"If-None-Match": before.headers["ETag"]})
    assert (after.status_code, after.json["version"]) == (200, 2)


def test_the_original_comes_back_byte_for_byte_and_in_ranges(client, document):
    path = f"/api/v1/documents/{document['id']}/file"
    with client.get(path) as whole:
        assert whole.data == TEXT.encode()
        assert whole.headers["ETag"]
    with client.get(path, headers={"Range": "bytes=2-7"}) as part:
        assert (part.status_code, part.data) == (206, b"Caches")
    beyond = client.get(path, headers={"Range": "bytes=99999-"})
    assert (beyond.status_code, beyond.mimetype) == (416, "application/problem+json")
    plain = client.get(f"/api/v1/documents/{document['id']}/text?format=plain", headers={"Range": "bytes=0-3"})
    assert plain.status_code == 206


def test_an_uploaded_page_never_runs_as_a_page_of_this_site(client, work):
    page = b"<html><body><script>alert(1)</script><p>Some text about caches.</p></body></html>"
    work(upload(client, ("evil.html", page)).json["job_id"])
    [document] = client.get("/api/v1/documents").json["items"]
    with client.get(f"/api/v1/documents/{document['id']}/file") as reply:
        assert reply.headers["Content-Disposition"].startswith("attachment")
        assert reply.headers["Content-Security-Policy"].startswith("sandbox")


def test_chunks_are_spans_of_the_text(client, document):
    text = client.get(f"/api/v1/documents/{document['id']}/text").json["text"]
    chunks = client.get(f"/api/v1/documents/{document['id']}/chunks").json["items"]
    assert chunks
    assert all(chunk["text"] == text[chunk["start"] : chunk["end"]] for chunk in chunks)


def test_chunks_come_page_by_page(client, work):
    text = "\n\n".join(f"# Part {n}\n\n{'A sentence of this part. ' * 60}" for n in range(4))
    work(upload(client, ("long.md", text.encode())).json["job_id"])
    path = f"/api/v1/documents/{client.get('/api/v1/documents').json['items'][0]['id']}/chunks"
    whole = client.get(path).json
    pages, cursor = [], ""
    while cursor is not None:
        page = client.get(path, query_string={"limit": 2, "cursor": cursor})
        pages.append(page)
        cursor = page.json["next_cursor"]
    assert len(pages) > 2
    assert [chunk for page in pages for chunk in page.json["items"]] == whole["items"]
    assert len({page.headers["ETag"] for page in pages}) == len(pages)


def test_only_the_version_that_was_seen_is_deleted(client, document, work):
    path = f"/api/v1/documents/{document['id']}"
    seen = client.get(path).headers["ETag"]
    work(upload(client, ("notes/cache.md", b"# Other\n\nNew text.\n")).json["job_id"])
    kept = client.delete(path, headers={"If-Match": seen})
    assert (kept.status_code, kept.get_json(force=True)["code"]) == (412, "precondition_failed")
    now = client.get(path).headers["ETag"]
    assert client.delete(path, headers={"If-Match": now}).json["verified"]


def test_documents_are_listed_page_by_page(client, work):
    files = [(f"{n}.md", f"# Title {n}\n\nText {n}.\n".encode()) for n in range(5)]
    work(upload(client, *files).json["job_id"])
    first = client.get("/api/v1/documents?limit=3").json
    rest = client.get(f"/api/v1/documents?limit=3&cursor={first['next_cursor']}").json
    uris = [d["uri"] for d in first["items"] + rest["items"]]
    assert (len(uris), len(set(uris)), first["total"], rest["next_cursor"]) == (5, 5, 5, None)
    assert [d["uri"] for d in client.get("/api/v1/documents?query=3.md").json["items"]] == ["upload:3.md"]


def test_a_deleted_document_is_gone_everywhere_and_the_receipt_says_so(client, document):
    receipt = client.delete(f"/api/v1/documents/{document['id']}")
    assert receipt.json["verified"]
    assert receipt.json["chunks_removed"] == document["chunks"]
    assert client.get(f"/api/v1/documents/{document['id']}").status_code == 404
    assert client.delete(f"/api/v1/documents/{document['id']}").status_code == 404
    assert client.post("/api/v1/search", json={"query": "KV cache blocks"}).json["passages"] == []
    lines = client.get("/api/v1/audit").json["items"]
    assert [line["action"] for line in lines[:2]] == ["document.delete", "documents.ingest"]


def test_a_document_or_job_of_a_hidden_collection_does_not_exist(client, services, document):
    keys = KeyStore(services.catalog)
    limited = bearer(keys.create("me", ["ask", "ingest"], ["mine"]).key)
    job = client.get("/api/v1/jobs", headers=bearer(keys.create("root", ["admin"]).key)).json["items"][0]

    def answer(method: str, path: str) -> str:
        reply = client.open(path, method=method, headers=limited)
        body = json.loads(reply.data)
        return json.dumps([reply.status_code, body["code"], body["detail"]])

    for method, path in [
        ("GET", "/api/v1/documents/{}"),
        ("GET", "/api/v1/documents/{}/text"),
        ("GET", "/api/v1/documents/{}/chunks"),
        ("GET", "/api/v1/documents/{}/file"),
        ("DELETE", "/api/v1/documents/{}"),
    ]:
        hidden = answer(method, path.format(document["id"])).replace(document["id"], "?")
        assert hidden == answer(method, path.format("0" * 32)).replace("0" * 32, "?")
    for method, path in [
        ("GET", "/api/v1/jobs/{}"),
        ("GET", "/api/v1/jobs/{}/items"),
        ("POST", "/api/v1/jobs/{}/retry"),
        ("POST", "/api/v1/jobs/{}/cancel"),
    ]:
        hidden = answer(method, path.format(job["id"])).replace(job["id"], "?")
        assert hidden == answer(method, path.format("0" * 32)).replace("0" * 32, "?")
    listed = client.get("/api/v1/jobs", headers=limited).json
    assert listed == {"items": [], "next_cursor": None}
    refused = upload(client, ("a.md", b"x"), headers=limited, collection="default")
    assert refused.status_code == 403


def test_the_etag_changes_with_the_address_that_is_shown_although_the_text_stays(client, services, document):
    address = f"/api/v1/documents/{document['id']}"
    before = client.get(address).headers["ETag"]
    assert client.get(address, headers={"If-None-Match": before}).status_code == 304
    with services.catalog.write() as session:  # as when the folder around an unchanged file is ingested
        session.execute(update(Document).values(address="file:archive/cache.md", updated_at=Document.updated_at))
    after = client.get(address, headers={"If-None-Match": before})
    assert (after.status_code, after.json["uri"]) == (200, "file:archive/cache.md")
    assert client.delete(address, headers={"If-Match": before}).status_code == 412
    assert client.delete(address, headers={"If-Match": after.headers["ETag"]}).status_code == 200
