"""The main path with every part real: documents in, cited answers out, over HTTP and on the command line."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from openai import OpenAI

pytestmark = pytest.mark.engine

PAGED = "What does PagedAttention reduce?"
PAGED_ZH = "PagedAttention 减少了什么？"


@pytest.fixture(scope="module")
def http(live_server):
    with httpx.Client(base_url=live_server, timeout=180) as client:
        yield client


def ask(http: httpx.Client, question: str, **more: object) -> dict:
    reply = http.post("/api/v1/ask", json={"question": question, **more})
    assert reply.status_code == 200, reply.text
    return reply.json()


def assert_quotes_are_exact(http: httpx.Client, answer: dict) -> None:
    for citation in answer["citations"]:
        text = http.get(f"/api/v1/documents/{citation['document_id']}/text").json()["text"]
        assert text[citation["start"] : citation["end"]] == citation["quote"]


@pytest.mark.parametrize(("question", "language"), [(PAGED, "en"), (PAGED_ZH, "zh")])
def test_an_answer_cites_the_right_document_in_the_questions_language(http, question, language):
    answer = ask(http, question)
    assert not answer["refused"]
    assert answer["language"] == language
    assert answer["citations"][0]["uri"] == f"file:{language}/kv-cache-and-pagedattention.pdf"
    assert f"[{answer['citations'][0]['n']}]" in answer["answer"]
    assert any(sentence["supported"] for sentence in answer["sentences"])
    assert_quotes_are_exact(http, answer)


def test_what_the_documents_do_not_hold_is_refused(http):
    answer = ask(http, "What is the boiling point of tungsten?")
    assert answer["refused"]
    assert answer["citations"] == []


def test_a_stream_ends_with_the_same_answer_that_it_streamed(http):
    events: list[tuple[str, dict]] = []
    with http.stream("POST", "/api/v1/ask", json={"question": PAGED, "stream": True}) as reply:
        name = ""
        for line in reply.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                events.append((name, json.loads(line.removeprefix("data: "))))
    names = [name for name, _ in events]
    assert names[0] == "passages"
    assert names[-1] == "done"
    streamed = "".join(data["text"] for name, data in events if name == "token")
    assert streamed.strip() == events[-1][1]["answer"].strip()


def wait_for_job(http: httpx.Client, job_id: str) -> dict:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        job = http.get(f"/api/v1/jobs/{job_id}").json()
        if job["state"] in ("done", "failed", "cancelled"):
            return job
        time.sleep(0.3)
    raise AssertionError(job)


def test_an_uploaded_file_is_answered_from_and_a_deleted_one_never_again(http):
    content = (
        "# The Harbour Rules\n\nThe harbour master of Quillmouth is Odette Varga. Mooring costs 14 florins a night.\n"
    )
    upload = http.post(
        "/api/v1/documents", files={"files": ("harbour.md", content, "text/markdown")}, data={"collection": "harbour"}
    )
    assert upload.status_code == 202, upload.text
    job = wait_for_job(http, upload.json()["job_id"])
    assert job["files"]["done"] == 1, job
    question = "How many florins does mooring cost a night?"
    answer = ask(http, question, collection="harbour")
    assert "14" in answer["answer"]
    assert_quotes_are_exact(http, answer)
    receipt = http.delete(f"/api/v1/documents/{job['items'][0]['document_id']}").json()
    assert receipt["verified"], receipt
    assert http.post("/api/v1/search", json={"query": question, "collection": "harbour"}).json()["passages"] == []
    assert ask(http, question, collection="harbour")["refused"]


def test_a_file_of_an_unknown_kind_fails_alone_with_its_reason(http):
    files = [("files", ("a.bin", b"\x00\x01\x02" * 100)), ("files", ("b.txt", b"A plain text about herons."))]
    upload = http.post("/api/v1/documents", files=files, data={"collection": "mixed"})
    job = wait_for_job(http, upload.json()["job_id"])
    outcome = {item["uri"]: (item["state"], item["reason_code"]) for item in job["items"]}
    assert outcome == {"upload:a.bin": ("failed", "unsupported"), "upload:b.txt": ("done", "")}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (json.dumps({"question": "  "}), 400, "empty_question"),
        (json.dumps({"question": "why " * 25_000}), 400, "question_too_long"),
        (json.dumps({"question": "why?", "collection": "no-such"}), 404, "not_found"),
        (b'{"question": "\xff\xfe"}', 400, None),
        ("not json", 400, None),
    ],
)
def test_bad_input_gets_a_clear_problem_document(http, body, status, code):
    reply = http.post("/api/v1/ask", content=body, headers={"Content-Type": "application/json"})
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert 400 <= reply.status_code < 500
    assert reply.status_code in (status, 413, 422)
    assert problem["detail"]
    assert code is None or problem["code"] == code
    assert "Traceback" not in reply.text


def test_the_official_openai_client_gets_a_cited_answer(live_server):
    with OpenAI(base_url=f"{live_server}/v1", api_key="none", timeout=180) as client:
        reply = client.chat.completions.create(model="default", messages=[{"role": "user", "content": PAGED}])
    assert "[1]" in reply.choices[0].message.content
    assert reply.choices[0].message.annotations


def test_the_command_line_answers_as_json(engine_url, live_server, tmp_path_factory):
    folder = Path(next(path for path in tmp_path_factory.getbasetemp().glob("live*") if path.is_dir()))
    done = subprocess.run(
        [sys.executable, "-m", "folio", "ask", PAGED, "--json"],
        env={**os.environ, "FOLIO_DATA_DIR": str(folder), "FOLIO_ENGINE_URL": engine_url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "kv-cache-and-pagedattention" in answer["citations"][0]["uri"]
