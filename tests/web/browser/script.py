"""The scripted parts of the browser tests: an answerer, an engine's state, two documents, jobs that go their way."""

import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Collection, Document
from folio.errors import EngineFailed, NotFound
from generation.answer import Answer, AskRequest, Citation, NearestPassage, Sampling, Sentence, Timing, Usage
from generation.conversations import Conversations
from generation.events import Done, Event, Failed, PassagesFound, SentenceChecked, Thinking, Token
from generation.receipts import AgentStep, PassageScores, PromptMessage, Receipt, Receipts, TokenProbability
from ingest.boxes import Box
from ingest.documents import ChunkView, DeletionReceipt, DocumentPage, DocumentText, DocumentView
from ingest.views import Counts, ItemView, JobView

DATA = Path(__file__).parents[3] / "data" / "en"
NOTE = "注意 📎 The lamp of the lighthouse has 1,200 watts.\n\nIt turns once every 12 seconds, and the keeper is Ada."
QUOTE = "It turns once every 12 seconds"
AT = NOTE.index(QUOTE)
NOTE_ID, PDF_ID = "1" * 32, "2" * 32
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

STEPS = [
    AgentStep(
        tool="search",
        arguments={"argument": "keeper of the lamp"},
        result="1 new passages: Lighthouse",
        milliseconds=820.0,
    ),
    AgentStep(tool="list_documents", arguments={"argument": ""}, result="Lighthouse; The KV cache", milliseconds=310.0),
    AgentStep(
        tool="read_document",
        arguments={"argument": "Lighthouse"},
        result="2 new passages: Lighthouse",
        milliseconds=640.0,
    ),
]


def stored(document_id: str, title: str, media_type: str, uri: str, pages: int) -> DocumentView:
    """A document of the collection `default`."""
    return DocumentView(
        id=document_id,
        collection="default",
        uri=uri,
        title=title,
        media_type=media_type,
        sha256="a" * 64,
        size_bytes=2048,
        version=1,
        status="ready",
        language="en",
        chunks=1,
        pages=pages,
        tags=[],
        meta={},
        created_at=NOW,
        updated_at=NOW,
    )


class Documents:
    """A note and a PDF."""

    def __init__(self) -> None:
        note = stored(NOTE_ID, "Lighthouse", "text/plain", "lighthouse.txt", 0)
        pdf = stored(PDF_ID, "The KV cache", "application/pdf", "kv-cache.pdf", 4)
        self.all = {NOTE_ID: note, PDF_ID: pdf}

    def list(self, collection: str, query: str = "", **_: object) -> DocumentPage:
        items = [d for d in self.all.values() if query.lower() in d.title.lower() and collection == d.collection]
        return DocumentPage(items=items, next_cursor=None, total=len(items))

    def get(self, document_id: str) -> DocumentView:
        if document_id not in self.all:
            raise NotFound("There is no such document.")
        return self.all[document_id]

    def text(self, document_id: str) -> DocumentText:
        return DocumentText(text=NOTE, pages=[])

    def chunks(self, document_id: str) -> Sequence[ChunkView]:
        place = {"start": 0, "end": len(NOTE), "page_start": None, "page_end": None, "heading_path": []}
        return [ChunkView(id=1, ordinal=0, token_count=12, text=NOTE, **place)]

    def file(self, document_id: str) -> tuple[Path, str, str]:
        return DATA / "kv-cache-and-pagedattention.pdf", "application/pdf", "kv-cache.pdf"

    def page_boxes(self, document_id: str, page: int, start: int, end: int) -> Sequence[Box]:
        return [Box(x=0.1, y=0.2, width=0.5, height=0.02)] if page == 2 else []

    def delete(self, document_id: str) -> DeletionReceipt:
        del self.all[document_id]
        checked = dict.fromkeys(("catalog", "chunks", "dense", "lexical", "files", "conversations"), True)
        counts = {"chunks_removed": 2, "answers_withdrawn": 1, "file_shared": False}
        return DeletionReceipt(document_id=document_id, verified=True, checked=checked, **counts)


class Jobs:
    """Takes files; a job runs for a moment, and a file named `*.bad` fails until it is retried."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {}
        self.uris: list[str] = []

    def store_upload(self, stream: Any, *, filename: str, max_bytes: int) -> SimpleNamespace:
        return SimpleNamespace(sha256="b" * 64, size_bytes=len(stream.read()), path=None)

    def submit(self, collection: str, files: list[Any], **_: object) -> JobView:
        job_id = uuid.uuid4().hex
        names = [file.title for file in files]
        self.uris += [file.uri for file in files]
        self.known[job_id] = {"names": names, "collection": collection, "at": time.monotonic(), "mended": False}
        return self.job(job_id)

    def submit_url(self, collection: str, url: str, **_: object) -> JobView:
        return self.submit(collection, [SimpleNamespace(title=url, uri=url)])

    def job(self, job_id: str) -> JobView:
        job = self.known[job_id]
        finished = time.monotonic() - job["at"] > 1.0
        items = [self._item(n, name, finished, job["mended"]) for n, name in enumerate(job["names"])]
        counts = Counts(total=len(items), **Counter(item.state for item in items))
        return JobView(
            id=job_id,
            collection=job["collection"],
            source="upload",
            state="done" if finished else "running",
            created_at=NOW,
            started_at=NOW,
            finished_at=NOW if finished else None,
            files=counts,
            chunks_total=10,
            chunks_done=4,
            rate_chunks_per_s=8.0,
            eta_s=1.0,
            items=items,
        )

    def jobs(self, collection: str | None = None, limit: int = 50, before: str | None = None) -> list[JobView]:
        return [self.job(job_id) for job_id in reversed(self.known)]

    def retry(self, job_id: str) -> None:
        self.known[job_id].update(at=time.monotonic(), mended=True)

    def _item(self, n: int, name: str, finished: bool, mended: bool) -> ItemView:
        failed = finished and name.endswith(".bad") and not mended
        return ItemView(
            id=str(n),
            uri=f"upload:{name}",
            title=name,
            state="failed" if failed else "done" if finished else "running",
            stage="" if finished else "embedding",
            attempts=1,
            reason_code="unsupported" if failed else "",
            reason="Folio does not read this kind of file." if failed else "",
            chunks_total=10,
            chunks_done=4,
            chunks_reused=0,
            document_id="",
            size_bytes=10,
        )


class Engine:
    """Says how it is; `state` may be changed."""

    def __init__(self) -> None:
        self.state = {"state": "ready"}

    def health(self) -> SimpleNamespace:
        state = self.state["state"]
        figures = {"max_model_len": 4096, "running": 0, "waiting": 0, "kv_cache_usage": 0.0}
        return SimpleNamespace(ready=state == "ready", state=state, detail="", model="starter", **figures)


@dataclass
class ScriptedAnswerer:
    """Answers by words of the question: `World Cup` is refused, `slow` takes its time, `break` fails half-way."""

    catalog: Catalog
    asked: list[AskRequest] = field(default_factory=list)

    def stream(self, request: AskRequest) -> Iterator[Event]:
        self.asked.append(request)
        yield PassagesFound((passage(1), passage(2)), 5.0)
        if request.thinking == "show":
            yield Thinking("The note says ")
            yield Thinking("how often it turns.")
        refused = "World Cup" in request.question
        text = "The documents don't answer this." if refused else answer_text(request.question)
        for piece in text.split(" "):
            time.sleep(0.15 if "slow" in request.question else 0.01)
            yield Token(piece if text.startswith(piece) else f" {piece}")
            if "break" in request.question:
                yield Failed(EngineFailed("The engine stopped in the middle of the answer. It is being started again."))
                return
        answer = self._answer(request, text, refused)
        for sentence in answer.sentences:
            yield SentenceChecked(sentence)
        yield Done(answer)

    def _answer(self, request: AskRequest, text: str, refused: bool) -> Answer:
        with self.catalog.read() as session:
            collection = session.scalar(select(Collection.id).where(Collection.name == request.collection)) or ""
        conversations = Conversations(self.catalog)
        answer = Answer(
            answer_id=uuid.uuid4().hex,
            conversation_id=request.conversation_id
            or conversations.create(collection, request.question, request.owner),
            question=request.question,
            collection=request.collection,
            language="en",
            answer=text,
            refused=refused,
            citations=[] if refused else [citation(1), citation(2)],
            sentences=[] if refused else sentences(text),
            passages=[passage(1), passage(2)],
            usage=Usage(prompt_tokens=400, cached_tokens=250, completion_tokens=12),
            timing=timing(request.mode),
            thinking="The note says how often it turns." if request.thinking == "show" else None,
            model="starter",
        )
        with self.catalog.write() as session:  # an answer keeps nothing of documents that are not in the catalog
            for view in Documents().all.values():
                fields = view.model_dump(exclude={"collection", "chunks", "pages"})
                session.merge(Document(**fields, collection_id=collection, text=NOTE))
        return Receipts(self.catalog).store(receipt(request, answer), collection).answer


def timing(mode: str) -> Timing:
    """Where the time went; an agent's calls count as retrieval."""
    calls = sum(step.milliseconds for step in STEPS) if mode == "agent" else 0
    return Timing(retrieval_ms=5 + calls, queue_ms=1, ttft_ms=120 + calls, total_ms=480 + calls)


def answer_text(question: str) -> str:
    """Two supported sentences and one that is not, with things that must stay harmless."""
    if any("\u4e00" <= c <= "\u9fff" for c in question):
        return "灯每 12 秒转一圈 [1]。缓存分成块 [2]。"
    return (
        "The lamp **turns** once every 12 seconds [1]. The cache is kept in blocks [2]. It was built in 1987 [1]. "
        '<img src=x onerror="document.title=1"> ![x](https://example.org/x.png) $a^2$ `code [1]`'
    )


def sentences(text: str) -> list[Sentence]:
    """The sentences up to the harmless part; the one about 1987 is not supported."""
    ends = "。" if "。" in text else ". "
    found = []
    for part in text.split(ends)[:3]:
        if "[" in part and "<" not in part:
            start = text.index(part)
            reason = "The year 1987 is not in the cited text." if "1987" in part else ""
            whole = part + ends.strip()
            verdict = {"citations": [1], "supported": not reason, "reason": reason}
            found.append(Sentence(text=whole, start=start, end=start + len(whole), **verdict))
    return found


def passage(n: int) -> NearestPassage:
    """What the model was shown: the note, and a page of the PDF."""
    where = {"start": AT, "end": AT + len(QUOTE), "page": None} if n == 1 else {"start": 0, "end": 40, "page": 2}
    return NearestPassage(n=n, **_source(n), **where, text=QUOTE, heading_path=["Lamp"], score=0.9 / n)


def citation(n: int) -> Citation:
    """A citation of that passage."""
    shown = passage(n)
    kept = shown.model_dump(exclude={"text", "heading_path"})
    return Citation(**kept, document_version=1, quote=QUOTE, passage_start=shown.start, passage_end=shown.end)


def _source(n: int) -> dict[str, str]:
    if n == 1:
        return {"document_id": NOTE_ID, "title": "Lighthouse", "uri": "lighthouse.txt", "media_type": "text/plain"}
    return {"document_id": PDF_ID, "title": "The KV cache", "uri": "kv-cache.pdf", "media_type": "application/pdf"}


def receipt(request: AskRequest, answer: Answer) -> Receipt:
    """A receipt in which the second passage did not fit."""
    scores = {"dense_rank": 1, "dense_score": 0.7, "lexical_rank": 2, "lexical_score": 4.2, "fused_score": 0.03}
    kept = PassageScores(
        n=1, rank=1, document_id=NOTE_ID, document_version=1, start=0, end=9, chunk_ids=[1], score=0.9, scores=scores
    )
    tokens = [(" lamp", -0.01), (" turns", -1.2), (" once", -0.2)]
    return Receipt(
        answer=answer,
        owner=request.owner,
        collection=request.collection,
        search_query=request.question,
        index_generation="g-1",
        weights={"dense": 0.4, "lexical": 0.6},
        passages=[kept],
        prompt=[PromptMessage(role="system", content="Answer from the sources.")],
        prompt_tokens_by_part={"instruction": 60, "passages": 310, "history": 0, "question": 10, "template": 20},
        dropped_passages=1,
        dropped_turns=0,
        sampling=Sampling(),
        max_tokens=320,
        raw=answer.answer,
        finish_reason="stop",
        refusal_probability=0.9 if answer.refused else 0.1,
        refusal_threshold=0.5,
        signals={"coverage": 0.6},
        steps=STEPS if request.mode == "agent" else [],
        logprobs=[TokenProbability(token=t, logprob=p, alternatives={t: p, " shines": -2.0}) for t, p in tokens],
    )


def scripted_parts(catalog: Catalog) -> SimpleNamespace:
    """All of them."""
    return SimpleNamespace(ingestion=Jobs(), documents=Documents(), engine=Engine(), answerer=ScriptedAnswerer(catalog))
