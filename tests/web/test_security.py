"""Who may do what, and what other sites, other names and other keys can't."""

import pytest

from folio.errors import ConfigurationError
from folio.keys import KeyStore
from web.access import check_exposure, is_loopback, scope_of
from web.app import create_app


@pytest.fixture
def keys(services) -> KeyStore:
    """The key store of the same catalog."""
    return KeyStore(services.catalog)


def bearer(key: str) -> dict[str, str]:
    """The header that sends a key."""
    return {"Authorization": f"Bearer {key}"}


def test_listening_elsewhere_needs_a_key(settings, catalog):
    check_exposure(settings, catalog)
    elsewhere = settings.model_copy(update={"host": "0.0.0.0"})
    with pytest.raises(ConfigurationError, match="folio keys create"):
        check_exposure(elsewhere, catalog)
    made = KeyStore(catalog).create("me", ["admin"])
    check_exposure(elsewhere, catalog)
    KeyStore(catalog).revoke(made.id)
    with pytest.raises(ConfigurationError):
        check_exposure(elsewhere, catalog)


def test_loopback_is_recognised():
    assert all(map(is_loopback, ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "example.com", ""]))


def test_an_open_folio_takes_any_key_so_that_openai_clients_work(client):
    assert client.get("/v1/models", headers=bearer("anything")).status_code == 200


def test_a_folio_that_listens_elsewhere_is_never_open(client_with):
    assert client_with(host="0.0.0.0").get("/api/v1/collections").status_code == 401


def test_the_first_key_ends_open_access_and_revoking_works_at_once(client, keys):
    assert client.get("/api/v1/collections").status_code == 200
    made = keys.create("me", ["ask"])
    assert client.get("/api/v1/collections").status_code == 401
    assert client.get("/api/v1/collections", headers=bearer(made.key)).status_code == 200
    keys.create("other", ["ask"])
    keys.revoke(made.id)
    assert client.get("/api/v1/collections", headers=bearer(made.key)).status_code == 401


def test_a_key_is_stored_as_a_hash_only_and_its_use_is_recorded(client, keys, catalog):
    made = keys.create("me", ["ask"])
    stored = (catalog.engine.raw_connection().driver_connection.execute("select * from api_keys")).fetchall()
    assert made.key not in repr(stored)
    assert keys.list()[0].last_used_at is None
    client.get("/api/v1/collections", headers=bearer(made.key))
    assert keys.list()[0].last_used_at is not None


@pytest.mark.parametrize(
    ("scopes", "method", "path", "status"),
    [
        (["ask"], "GET", "/api/v1/collections", 200),
        (["ask"], "POST", "/api/v1/collections", 403),
        (["ingest"], "POST", "/api/v1/collections", 201),
        (["ingest"], "POST", "/api/v1/ask", 403),
        (["ask", "ingest"], "GET", "/api/v1/keys", 403),
        (["ask", "ingest"], "DELETE", "/api/v1/collections/default", 403),
        (["ask"], "GET", "/metrics", 403),
        (["admin"], "GET", "/metrics", 200),
        (["admin"], "GET", "/api/v1/keys", 200),
        (["admin"], "POST", "/api/v1/ask", 200),
    ],
)
def test_a_scope_allows_its_own_and_no_more(client, keys, scopes, method, path, status):
    body = {"name": "new"} if path.endswith("collections") else {"question": "a"}
    reply = client.open(path, method=method, headers=bearer(keys.create("me", scopes).key), json=body)
    assert reply.status_code == status


def test_every_handler_has_a_scope_and_only_these_need_none(services):
    app = create_app(services)
    with app.app_context():
        open_to_all = {
            rule.rule
            for rule in app.url_map.iter_rules()
            if rule.endpoint != "static" and not rule.endpoint.startswith("pages.") and not scope_of(rule.endpoint)
        }
    assert open_to_all == {
        "/healthz",
        "/readyz",
        "/api/v1/status",
        "/api/v1/session",
        "/openapi.json",
        "/docs",
        "/docs/<name>",
        "/problems/<code>",
    }


def test_a_key_for_one_collection_cannot_learn_that_another_exists(client, services, keys):
    services.collections.create("secret")
    services.collections.create("mine")
    headers = bearer(keys.create("me", ["ask", "ingest"], ["mine"]).key)

    def answer(method: str, path: str, name: str, body: dict | None = None) -> tuple[int, str]:
        filled = {key: (name if value == "?" else value) for key, value in (body or {}).items()}
        reply = client.open(path.replace("NAME", name), method=method, headers=headers, json=filled or None)
        text = reply.get_data(as_text=True).replace(reply.headers["X-Request-Id"], "")
        return reply.status_code, text.replace(name, "?")

    for method, path, body in [
        ("GET", "/api/v1/collections/NAME", None),
        ("POST", "/api/v1/ask", {"question": "a", "collection": "?"}),
        ("POST", "/api/v1/search", {"query": "a", "collection": "?"}),
        ("POST", "/api/v1/collections", {"name": "?"}),
        ("GET", "/api/v1/documents?collection=NAME", None),
        ("GET", "/api/v1/jobs?collection=NAME", None),
        ("POST", "/v1/chat/completions", {"model": "?", "messages": [{"role": "user", "content": "a"}]}),
        ("GET", "/v1/models/NAME", None),
    ]:
        assert answer(method, path, "secret", body) == answer(method, path, "absent", body), path
    assert [c["name"] for c in client.get("/api/v1/collections", headers=headers).json["items"]] == ["mine"]
    assert "secret" not in client.get("/v1/models", headers=headers).text


def test_an_administrator_s_key_cannot_be_limited_because_it_could_make_others_that_are_not(client, keys):
    body = {"name": "x", "scopes": ["admin"], "collections": ["mine"]}
    assert client.post("/api/v1/keys", json=body).status_code == 400
    assert keys.list() == []


def test_made_up_methods_do_not_grow_the_figures(client):
    for n in range(50):
        client.open("/healthz", method=f"METHOD{n}")
    assert "METHOD1" not in client.get("/metrics").text


def test_one_answer_has_so_many_readers_only(client):
    first = client.post("/api/v1/ask", json={"question": "a", "stream": True}, buffered=False)
    path = f"/api/v1/ask/{first.headers['Folio-Stream']}"
    readers = [first, *(client.get(path, buffered=False) for _ in range(7))]
    assert [reader.status_code for reader in readers] == [200] * 8
    assert client.get(path).status_code == 429
    readers[-1].close()
    assert client.get(path).status_code == 200
    for reader in readers:
        reader.close()


def test_the_wording_for_a_hidden_collection_is_that_of_a_missing_one(client, services, keys):
    services.collections.create("secret")
    limited = bearer(keys.create("me", ["ask"], ["mine"]).key)
    free = bearer(keys.create("root", ["admin"]).key)
    hidden = client.get("/api/v1/collections/secret", headers=limited).get_json(force=True)
    missing = client.get("/api/v1/collections/absent", headers=free).get_json(force=True)
    assert hidden["detail"].replace("secret", "?") == missing["detail"].replace("absent", "?")


def test_signing_in_with_a_key_sets_a_cookie_that_works_until_signing_out(client, keys):
    made = keys.create("me", ["ask"])
    assert client.post("/api/v1/session", json={"key": "wrong"}).status_code == 401
    signed = client.post("/api/v1/session", json={"key": made.key})
    assert signed.status_code == 204
    cookie = signed.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert made.key not in cookie
    who = client.get("/api/v1/session").json
    assert (who["access"], who["signed_in"], who["name"], who["scopes"]) == ("keys", True, "me", ["ask"])
    assert client.get("/api/v1/collections").status_code == 200
    client.delete("/api/v1/session")
    assert client.get("/api/v1/collections").status_code == 401


def test_the_cookie_is_secure_when_the_request_came_by_https(client, keys):
    made = keys.create("me", ["ask"])
    plain = client.post("/api/v1/session", json={"key": made.key})
    secure = client.post("/api/v1/session", json={"key": made.key}, base_url="https://localhost")
    assert "Secure" not in plain.headers["Set-Cookie"]
    assert "Secure" in secure.headers["Set-Cookie"]
    assert "Strict-Transport-Security" in secure.headers


def test_revoking_a_key_ends_its_sessions(client, keys):
    made = keys.create("me", ["ask"])
    keys.create("other", ["ask"])
    client.post("/api/v1/session", json={"key": made.key})
    keys.revoke(made.id)
    assert client.get("/api/v1/collections").status_code == 401


def test_a_forged_cookie_is_worth_nothing(client, services, keys):
    made = keys.create("me", ["admin"])
    client.post("/api/v1/session", json={"key": made.key})
    value = client.get_cookie("folio_session").value
    forged = value[:-4] + ("AAAA" if value[-4:] != "AAAA" else "BBBB")
    client.set_cookie("folio_session", forged)
    assert client.get("/api/v1/keys").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost:9999"},
    ],
)
def test_another_site_cannot_change_anything_with_a_reader_s_browser(client, keys, headers):
    body = {"name": "made-by-evil"}
    assert client.post("/api/v1/collections", json=body, headers=headers).status_code == 403
    made = keys.create("me", ["admin"])
    client.post("/api/v1/session", json={"key": made.key})
    assert client.post("/api/v1/collections", json=body, headers=headers).status_code == 403
    assert client.post("/api/v1/collections", json=body, headers={**headers, **bearer(made.key)}).status_code == 201


def test_folio_s_own_page_may(client):
    own = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/v1/collections", json={"name": "mine"}, headers=own).status_code == 201


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "evil.example:8000", "["])
def test_a_name_that_merely_resolves_to_this_machine_is_not_answered(client, host):
    reply = client.get("/api/v1/collections", headers={"Host": host})
    assert reply.status_code in (400, 421)


def test_further_names_can_be_allowed(client_with):
    client = client_with(allowed_hosts="folio.example, other.example")
    assert client.get("/healthz", headers={"Host": "folio.example:80"}).status_code == 200
    assert client.get("/healthz", headers={"Host": "localhost:8000"}).status_code == 200
    assert client.get("/healthz", headers={"Host": "evil.example"}).status_code == 421


def test_every_reply_has_the_security_headers(client):
    for path in ("/healthz", "/docs", "/nope", "/api/v1/collections"):
        with client.get(path) as reply:
            headers = reply.headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy
        assert "'unsafe-eval'" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_each_key_has_its_own_rate_limit(client_with, keys):
    client = client_with(rate_limit="3/minute", ask_rate_limit="1/minute")
    one, two = (bearer(keys.create(name, ["ask"]).key) for name in ("one", "two"))
    statuses = [client.get("/api/v1/collections", headers=one).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    limited = client.get("/api/v1/collections", headers=one)
    assert 1 <= int(limited.headers["Retry-After"]) <= 60
    assert client.post("/api/v1/ask", json={"question": "a"}, headers=two).status_code == 200
    assert client.post("/api/v1/ask", json={"question": "a"}, headers=two).status_code == 429


def test_servers_that_share_a_redis_share_the_rate_limits(client_with, keys, redis_url):
    shared = {"rate_limit": "3/minute", "rate_limit_storage": redis_url}
    one, other = client_with(**shared), client_with(**shared)
    headers = bearer(keys.create("me", ["ask"]).key)
    clients = (one, other, one, other)
    statuses = [client.get("/api/v1/collections", headers=headers).status_code for client in clients]
    assert statuses == [200, 200, 200, 429]


def test_while_the_redis_of_the_rate_limits_is_away_nothing_is_unlimited(client_with, keys, unused_port):
    client = client_with(rate_limit_storage=f"redis://127.0.0.1:{unused_port}")
    reply = client.get("/api/v1/collections", headers=bearer(keys.create("me", ["ask"]).key))
    assert (reply.status_code, reply.json["code"]) == (503, "unavailable")
    assert int(reply.headers["Retry-After"]) > 0
    assert client.get("/healthz").status_code == 200


def test_guessing_keys_at_the_sign_in_is_slowed(client_with, keys):
    keys.create("me", ["ask"])
    client = client_with(sign_in_rate_limit="2/minute")
    statuses = [client.post("/api/v1/session", json={"key": "guess"}).status_code for _ in range(3)]
    assert statuses == [401, 401, 429]


def test_a_rate_limit_that_cannot_be_understood_is_said_at_the_start(client_with):
    with pytest.raises(ConfigurationError, match="120/minute"):
        client_with(rate_limit="often")


def test_key_changes_and_deletions_are_in_the_audit_log(client, keys):
    root = keys.create("root", ["admin"])
    headers = bearer(root.key)
    made = client.post("/api/v1/keys", json={"name": "x", "scopes": ["ask"]}, headers=headers)
    assert made.status_code == 201
    assert made.headers["Cache-Control"] == "no-store"
    client.post("/api/v1/collections", json={"name": "short-lived"}, headers=headers)
    client.delete("/api/v1/collections/short-lived", headers=headers)
    client.delete(f"/api/v1/keys/{made.json['id']}", headers=headers)
    lines = client.get("/api/v1/audit?limit=4", headers=headers).json["items"]
    assert [line["action"] for line in lines] == ["key.revoke", "collection.delete", "collection.create", "key.create"]
    assert {line["actor"] for line in lines} == {root.id}
    assert made.json["key"] not in str(lines)


def test_the_audit_log_is_read_page_by_page(client, services):
    for n in range(5):
        client.post("/api/v1/collections", json={"name": f"c{n}"})
    first = client.get("/api/v1/audit?limit=4").json
    rest = client.get(f"/api/v1/audit?limit=4&cursor={first['next_cursor']}").json
    assert [line["subject"] for line in first["items"] + rest["items"]] == ["c4", "c3", "c2", "c1", "c0", "default"]
    assert rest["next_cursor"] is None
