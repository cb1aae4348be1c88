"""A small client of Folio's REST interface, for Python programs.

    with Folio("http://127.0.0.1:8000") as folio:
        print(folio.ask("What does PagedAttention reduce?")["answer"])

Replies are the JSON objects of `docs/api.md` as plain dictionaries. A failed call raises `FolioProblem`.
"""

import contextlib
import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

Json = dict[str, Any]
RESUME_TRIES = 5
RESUME_PAUSE_S = 0.5
FINISHED = ("done", "failed", "cancelled")


class FolioProblem(Exception):
    """A problem reply. `code` is stable; `problem` is the whole object."""

    def __init__(self, problem: Json) -> None:
        super().__init__(f"{problem.get('title', 'Problem')}: {problem.get('detail', '')}")
        self.problem = problem
        self.status: int = problem.get("status", 0)
        self.code: str = problem.get("code", "")
        self.retry_after_s: int | None = problem.get("retry_after_s")


@dataclass(frozen=True)
class StreamEvent:
    """One event of an answer in the making: `passages`, `thinking`, `token`, `sentence`, `done`."""

    name: str
    data: Json
    id: str = ""


class Folio:
    """A connection to one Folio.

    Args:
        url: where it listens.
        key: an API key, if that Folio needs one.
        timeout_s: seconds without a byte after which a call fails; streams send something every 10 s.
        transport: how requests travel, as httpx takes it; None means over the network.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        key: str = "",
        *,
        timeout_s: float = 120.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout_s, transport=transport)

    def ask(self, question: str, **options: Any) -> Json:
        """The whole answer. Options are those of `POST /api/v1/ask`: `collection`, `top_k`, `sampling`, ..."""
        return self._json("POST", "/api/v1/ask", json={"question": question, **options})

    def stream(self, question: str, **options: Any) -> Iterator[StreamEvent]:
        """The answer while it is made. A broken connection is resumed; leaving the loop stops the answer."""
        body = {"question": question, **options, "stream": True}
        last_id, tries = "", 0
        while True:
            try:
                for event in self._events(body, last_id):
                    last_id, tries = event.id or last_id, 0
                    yield event
                    if event.name == "done":
                        return
                raise FolioProblem({"title": "The stream ended", "detail": "The answer was not finished."})
            except httpx.TransportError:
                tries += 1
                if not last_id or tries > RESUME_TRIES:
                    raise
                time.sleep(RESUME_PAUSE_S)

    def search(self, query: str, **options: Any) -> Json:
        """Ranked passages; options are those of `POST /api/v1/search`."""
        return self._json("POST", "/api/v1/search", json={"query": query, **options})

    def ingest(self, *paths: str | Path, collection: str = "default", tags: tuple[str, ...] = ()) -> Json:
        """Upload files and return the job that adds them; a repeated upload after a lost reply does nothing twice."""
        with contextlib.ExitStack() as open_files:
            files = [("files", (Path(p).name, open_files.enter_context(Path(p).open("rb")))) for p in paths]
            return self._submit(data={"collection": collection, "tags": list(tags)}, files=files)

    def ingest_url(self, url: str, collection: str = "default", **site: Any) -> Json:
        """Fetch a page or file and return the job that adds it.

        Pages of its site come too with `crawl={"depth": 1, "max_pages": 200}` or `sitemap={"max_pages": 200}`.
        """
        return self._submit(json={"url": url, "collection": collection, **site})

    def ingest_text(self, title: str, text: str, collection: str = "default") -> Json:
        """Add a text and return the job that does."""
        return self._submit(json={"title": title, "text": text, "collection": collection})

    def job(self, job_id: str) -> Json:
        """A job as it stands."""
        return self._json("GET", f"/api/v1/jobs/{job_id}")

    def wait(self, job_id: str, timeout_s: float = 600.0) -> Json:
        """The job once it has finished.

        Raises:
            TimeoutError: it has not finished in time; it goes on.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            job = self.job(job_id)
            if job["state"] in FINISHED:
                return job
            if time.monotonic() > deadline:
                raise TimeoutError(f"Job {job_id} is still {job['state']}.")
            time.sleep(0.3)

    def jobs(self, collection: str | None = None) -> Iterator[Json]:
        """All jobs, newest first."""
        return self._pages("/api/v1/jobs", {"collection": collection} if collection else {})

    def job_items(self, job_id: str, state: str = "") -> Iterator[Json]:
        """All files of a job, or those in a state: `queued`, `running`, `done`, `unchanged`, `failed`, `cancelled`."""
        return self._pages(f"/api/v1/jobs/{job_id}/items", {"state": state})

    def documents(self, collection: str = "default", query: str = "") -> Iterator[Json]:
        """All documents of a collection."""
        return self._pages("/api/v1/documents", {"collection": collection, "query": query})

    def document(self, document_id: str) -> Json:
        """A document."""
        return self._json("GET", f"/api/v1/documents/{document_id}")

    def text(self, document_id: str) -> str:
        """A document's canonical text."""
        text: str = self._json("GET", f"/api/v1/documents/{document_id}/text")["text"]
        return text

    def delete(self, document_id: str) -> Json:
        """Delete a document; returns the receipt."""
        return self._json("DELETE", f"/api/v1/documents/{document_id}")

    def collections(self) -> list[Json]:
        """All collections that the key may use."""
        return list(self._pages("/api/v1/collections", {}))

    def status(self) -> Json:
        """What works at the moment."""
        return self._json("GET", "/api/v1/status")

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _submit(self, **body: Any) -> Json:
        accepted = self._json("POST", "/api/v1/documents", headers={"Idempotency-Key": uuid.uuid4().hex}, **body)
        return self.job(accepted["job_id"])

    def _pages(self, path: str, query: Json) -> Iterator[Json]:
        cursor: str | None = ""
        while cursor is not None:
            page = self._json("GET", path, params={**query, "cursor": cursor})
            yield from page["items"]
            cursor = page["next_cursor"]

    def _json(self, method: str, path: str, **request: Any) -> Json:
        response = self._http.request(method, path, **request)
        _raise_problem(response)
        answer: Json = response.json()
        return answer

    def _events(self, body: Json, last_id: str) -> Iterator[StreamEvent]:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        with self._http.stream("POST", "/api/v1/ask", json=body, headers=headers) as response:
            if response.is_error:
                response.read()
            _raise_problem(response)
            fields: dict[str, str] = {}
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                elif "event" in fields:
                    data = json.loads(fields["data"])
                    if fields["event"] == "error":
                        raise FolioProblem(data)
                    yield StreamEvent(fields["event"], data, fields.get("id", ""))
                    fields = {}


def _raise_problem(response: httpx.Response) -> None:
    if response.is_success:
        return
    try:
        problem = response.json()
    except ValueError:
        problem = {"title": response.reason_phrase, "status": response.status_code, "detail": response.text[:200]}
    raise FolioProblem(problem)
