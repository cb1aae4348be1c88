"""Every failure is a problem of one shape, with the status and code that `docs/api.md` promises."""

import re
from pathlib import Path

import jsonschema_rs
import pytest

import folio.errors
from folio.errors import FolioError, ModelMissing
from web.app import create_app
from web.errors import HTTP_PROBLEMS, PROBLEM_JSON, STATUS, every_code

DOCS = Path(__file__).parents[2] / "docs" / "api.md"


def all_errors(kind: type[FolioError] = FolioError) -> set[type[FolioError]]:
    """The class and all its descendants that `folio.errors` defines."""
    below = {k for sub in kind.__subclasses__() for k in all_errors(sub)}
    return {k for k in {kind, *below} if k.__module__ == "folio.errors"}


def test_every_error_has_a_row_of_its_own():
    assert all_errors() == set(STATUS)
    assert len({kind.code for kind in STATUS}) == len(STATUS)


def operations(app) -> list[tuple[str, str]]:
    """Method and path of every operation of the API, with made-up path parameters."""
    return [
        (method, re.sub(r"\{[^}]+\}", "nope", path)) for path, item in app.api_doc["paths"].items() for method in item
    ]


def is_problem(reply, status: int | None = None) -> bool:
    """Whether a reply is a whole problem, agreeing with its own status."""
    body = reply.get_json(force=True)
    return (
        reply.mimetype == PROBLEM_JSON
        and {"type", "title", "status", "detail", "code", "request_id"} <= body.keys()
        and body["status"] == reply.status_code == (status or reply.status_code)
        and body["type"] == f"/problems/{body['code']}"
        and body["request_id"] == reply.headers["X-Request-Id"]
        and body["code"] in every_code()
    )


def test_every_reference_of_the_description_leads_somewhere(client):
    described = client.get("/openapi.json").json
    references = set(re.findall(r'"\$ref": ?"([^"]+)"', client.get("/openapi.json").text))
    assert "#/components/schemas/Crawl" in references
    for reference in references:
        place = described
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def test_every_operation_answers_a_wrong_method_a_wrong_host_and_a_wrong_key_with_a_problem(services):
    app = create_app(services)
    keyed = create_app(services).extensions["folio"].keys
    client = app.test_client()
    for method, path in operations(app):
        assert is_problem(client.open(path, method="TRACE"), 405), path
        assert is_problem(client.open(path, method=method, headers={"Host": "evil.example"}), 421), path
    keyed.create("someone", ["ask"])
    for method, path in operations(app):
        reply = client.open(path, method=method, headers={"Authorization": "Bearer wrong"})
        assert is_problem(reply, 401), path
        assert reply.headers["WWW-Authenticate"].startswith("Bearer")


def test_every_operation_with_a_json_body_refuses_what_is_not_json(services):
    app = create_app(services)
    client = app.test_client()
    bodies = [
        (path, method)
        for path, item in app.api_doc["paths"].items()
        for method, operation in item.items()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    ]
    assert len(bodies) >= 7
    for template, method in bodies:
        path = re.sub(r"\{[^}]+\}", "nope", template)
        for junk in (b"\xff\xfe\x00", b"{", b"[" * 100_000, b'{"a": "\\ud800"}'):
            reply = client.open(path, method=method, data=junk, content_type="application/json")
            assert is_problem(reply, 400), (path, junk[:10])
        assert is_problem(client.open(path, method=method, data=b"a=1", content_type="text/plain"), 415), path
        if path != "/api/v1/documents":  # which takes whole texts and files, up to a limit of its own
            large = client.open(path, method=method, data=b"x" * 3_000_000, content_type="application/json")
            assert is_problem(large, 413), path


@pytest.mark.parametrize("path", ["/nope", "/api/v1/nope", "/v1/nope", "/docs/nope", "/problems/nope"])
def test_an_address_that_is_not_there_is_a_problem(client, path):
    assert is_problem(client.get(path), 404)


@pytest.mark.parametrize("error", [RuntimeError("secret detail"), ModelMissing("Not in /secret.")])
def test_an_error_of_the_machine_shows_nothing_of_itself(client, answerer, error):
    def explode(request):
        raise error

    answerer.events = explode
    for stream in (False, True):
        reply = client.post("/api/v1/ask", json={"question": "a", "stream": stream})
        assert is_problem(reply, 500)
        assert b"secret" not in reply.data


def test_the_type_of_a_problem_leads_to_its_meaning(client):
    for code, meaning in every_code().items():
        reply = client.get(f"/problems/{code}")
        assert (reply.status_code, reply.json["title"]) == (200, meaning["title"])


def test_the_openai_door_also_has_the_error_member_its_clients_read(client):
    reply = client.post("/v1/chat/completions", json={})
    assert is_problem(reply, 400)
    assert reply.get_json(force=True)["error"]["code"] == "invalid_request"


def test_a_client_may_name_its_request_but_not_write_into_the_log(client):
    assert client.get("/healthz", headers={"X-Request-Id": "mine-1"}).headers["X-Request-Id"] == "mine-1"
    assert client.get("/healthz", headers={"X-Request-Id": "a b"}).headers["X-Request-Id"] != "a b"


def test_every_code_and_operation_is_in_the_docs(services):
    text = DOCS.read_text()
    for code in every_code():
        assert f"| `{code}` |" in text, code
    for path, item in create_app(services).api_doc["paths"].items():
        for method in item:
            assert f"`{method.upper()} {path}`" in text, (method, path)


def test_http_problems_cover_what_werkzeug_raises_on_bad_requests():
    assert {400, 404, 405, 413, 415, 416} <= HTTP_PROBLEMS.keys()
    assert folio.errors.TooManyRequests.code == HTTP_PROBLEMS[429][0]


def test_every_request_body_is_described_with_an_example_that_it_takes(client):
    described = client.get("/openapi.json").json
    operations = [each for path in described["paths"].values() for each in path.values() if "requestBody" in each]
    schemas = [
        schema
        for operation in operations
        for kind, content in operation["requestBody"]["content"].items()
        if kind == "application/json"
        for schema in content["schema"].get("anyOf", [content["schema"]])
    ]
    assert len(schemas) >= 9
    for schema in schemas:
        whole = described["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
        if whole["title"] != "SignIn":  # a key is a secret
            jsonschema_rs.validate({**whole, "components": described["components"]}, whole["example"])
