"""From a question to a checked, cited answer: search, assemble, generate, verify, decide, keep the receipt."""

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from sqlalchemy import select

from folio.catalog import Catalog
from folio.catalog.models import Collection
from folio.errors import EmptyQuestion, FolioError, NotFound
from folio.settings import Settings
from generation.answer import Answer, AskRequest, Citation, NearestPassage, Timing, Turn, Usage
from generation.conversations import Conversations
from generation.draft import Draft
from generation.engine import Engine, EngineUsage, GenerationRequest, TokenLogprob
from generation.events import Done, Event, Failed, PassagesFound, SentenceChecked, Thinking, Token
from generation.language import question_language
from generation.prompt import NumberedPassage, Prompt, Window, assemble, number
from generation.receipts import PassageScores, PromptMessage, Receipt, Receipts, TokenProbability
from generation.refusal import Signals, may_become_marker, read_signals, refusal_probability, says_not_found
from generation.refusal_text import refusal_text
from generation.rewriting import needs_context, rewrite
from generation.support import SupportChecker
from retrieval.passages import SearchResult
from retrieval.search import Searcher

REPORTED_ALTERNATIVES = 10


@dataclass
class _Making:
    """One answer while it is made."""

    request: AskRequest
    collection_id: str
    language: str
    started: float
    search_query: str = ""
    history: tuple[Turn, ...] = ()
    found: SearchResult | None = None
    prompt: Prompt | None = None
    draft: Draft | None = None
    thinking: str = ""
    raw: str = ""
    logprobs: list[TokenLogprob] = field(default_factory=list)
    usage: EngineUsage = field(default_factory=lambda: EngineUsage(0, 0, 0))
    thinking_pieces: int = 0
    finish_reason: str = ""
    retrieval_ms: float = 0.0
    ttft_ms: float = 0.0

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self.started) * 1000


class Answerer:
    """Answers questions over a collection.

    Args:
        catalog: where receipts and conversations are kept.
        searcher: finds the passages.
        engine: writes the answer.
    """

    def __init__(self, catalog: Catalog, searcher: Searcher, engine: Engine, settings: Settings) -> None:
        self._catalog = catalog
        self._searcher = searcher
        self._engine = engine
        self._settings = settings
        self._receipts = Receipts(catalog)
        self._conversations = Conversations(catalog)

    def ask(self, request: AskRequest) -> Answer:
        """The whole answer.

        Raises:
            FolioError: why there is none.
        """
        for event in self.stream(request):
            if isinstance(event, Done):
                return event.answer
            if isinstance(event, Failed):
                raise event.error
        raise FolioError("The answer ended before it was done.")

    def stream(self, request: AskRequest) -> Iterator[Event]:
        """The answer while it is made. Closing the iterator aborts the generation in the engine.

        Raises:
            FolioError: before the first event only; later an error comes as `Failed`.
        """
        begun = False
        try:
            for event in self._events(request):
                begun = True
                yield event
        except FolioError as exc:
            if not begun:
                raise
            yield Failed(exc)

    def _events(self, request: AskRequest) -> Iterator[Event]:
        making = self._begin(request)
        self._search(making)
        assert making.found is not None
        numbered = number(making.found.passages)
        yield PassagesFound(tuple(_shown(item) for item in numbered), making.retrieval_ms)
        if numbered:
            yield from self._write(making, numbered)
        answer, receipt = self._conclude(making, numbered)
        self._receipts.store(receipt, making.collection_id)
        yield Done(answer)

    def _begin(self, request: AskRequest) -> _Making:
        if not request.question.strip():
            raise EmptyQuestion("The question is empty. Write what you want to know.")
        with self._catalog.read() as session:
            collection_id = session.scalar(select(Collection.id).where(Collection.name == request.collection))
        if collection_id is None:
            raise NotFound(f"There is no collection named {request.collection!r}.")
        making = _Making(request, collection_id, question_language(request.question), time.perf_counter())
        making.history = request.history
        if request.conversation_id is not None:
            conversation = self._conversations.get(request.conversation_id)
            making.history = tuple(Turn(a.question, a.answer) for a in conversation.items if not a.refused)
        return making

    def _search(self, making: _Making) -> None:
        request = making.request
        making.search_query = request.question
        if making.history and needs_context(request.question):
            making.search_query = rewrite(self._engine, making.history, request.question)
        began = time.perf_counter()
        making.found = self._searcher.search(
            making.search_query, collection=request.collection, top_k=request.top_k, filters=request.filters
        )
        making.retrieval_ms = (time.perf_counter() - began) * 1000

    def _write(self, making: _Making, numbered: Sequence[NumberedPassage]) -> Iterator[Event]:
        request, settings = making.request, self._settings
        window = Window(
            self._engine.context_length(),
            request.sampling.max_tokens or settings.answer_tokens,
            settings.prompt_margin_tokens,
        )
        making.prompt = assemble(request.question, numbered, making.history, window, self._engine.count_messages)
        checker = SupportChecker(making.search_query, making.prompt.passages)
        making.draft = Draft(checker, frozenset(item.n for item in making.prompt.passages))
        yield from self._generate(making, making.prompt)

    def _generate(self, making: _Making, prompt: Prompt) -> Iterator[Event]:
        assert making.draft is not None
        held = ""
        stream = self._engine.stream_chat(
            GenerationRequest(
                prompt.messages,
                making.request.sampling,
                prompt.max_tokens,
                top_logprobs=REPORTED_ALTERNATIVES,
                affinity=making.request.conversation_id or making.collection_id,
            )
        )
        for token in stream:
            making.usage = token.usage or making.usage
            making.finish_reason = token.finish_reason or making.finish_reason
            making.logprobs.extend(token.logprobs if not token.thinking else ())
            if token.thinking:
                making.thinking += token.thinking
                making.thinking_pieces += 1
                if making.request.thinking == "show":
                    yield Thinking(token.thinking)
            making.raw += token.text
            held += token.text
            if not token.text or may_become_marker(making.raw):
                continue
            yield from self._timed(making, making.draft.feed(held))
            held = ""
        if not says_not_found(making.raw):
            yield from self._timed(making, making.draft.feed(held))
            yield from self._timed(making, making.draft.finish())

    def _timed(self, making: _Making, events: Iterator[Token | SentenceChecked]) -> Iterator[Event]:
        for event in events:
            making.ttft_ms = making.ttft_ms or making.elapsed_ms()
            yield event

    def _conclude(self, making: _Making, numbered: Sequence[NumberedPassage]) -> tuple[Answer, Receipt]:
        assert making.found is not None
        checked = making.draft.checked if making.draft else []
        signals = read_signals(making.found.passages, making.logprobs, [item.verdict for item in checked], making.raw)
        probability = refusal_probability(signals) if numbered and checked else 1.0
        refused = probability >= self._settings.refusal_threshold
        answer = self._answer(making, numbered, refused)
        return answer, self._receipt(making, answer, signals, probability)

    def _answer(self, making: _Making, numbered: Sequence[NumberedPassage], refused: bool) -> Answer:
        assert making.found is not None
        request, draft = making.request, making.draft
        if refused or draft is None:
            text = refusal_text(making.language, request.collection, making.found.passages)
        else:
            text = draft.text
        total_ms = making.elapsed_ms()
        return Answer(
            answer_id=uuid.uuid4().hex,
            conversation_id=request.conversation_id
            or self._conversations.create(making.collection_id, request.question, request.owner),
            question=request.question,
            collection=request.collection,
            language=making.language,
            answer=text,
            refused=refused,
            citations=[] if refused or draft is None else _citations(draft, numbered),
            sentences=[] if refused or draft is None else [item.sentence for item in draft.checked],
            passages=[_shown(item) for item in sorted(numbered, key=lambda item: item.passage.rank)],
            thinking=making.thinking if request.thinking == "show" and making.thinking else None,
            usage=Usage(**asdict(making.usage), thinking_tokens=making.thinking_pieces),
            timing=Timing(retrieval_ms=making.retrieval_ms, ttft_ms=making.ttft_ms or total_ms, total_ms=total_ms),
            model=self._engine.model_name() if making.prompt else "",
        )

    def _receipt(self, making: _Making, answer: Answer, signals: Signals, probability: float) -> Receipt:
        assert making.found is not None
        prompt = making.prompt
        passages = prompt.passages if prompt else ()
        return Receipt(
            answer=answer,
            owner=making.request.owner,
            collection=making.request.collection,
            search_query=making.search_query,
            index_generation=making.found.generation,
            weights=dict(making.found.weights),
            passages=[_scores(item) for item in passages],
            prompt=[PromptMessage(role=m.role, content=m.content) for m in (prompt.messages if prompt else ())],
            prompt_tokens_by_part=self._parts(prompt) if prompt else {},
            dropped_passages=prompt.dropped_passages if prompt else 0,
            dropped_turns=prompt.dropped_turns if prompt else 0,
            sampling=making.request.sampling,
            max_tokens=prompt.max_tokens if prompt else 0,
            raw=making.raw,
            finish_reason=making.finish_reason,
            refusal_probability=probability,
            refusal_threshold=self._settings.refusal_threshold,
            signals=signals.as_dict(),
            logprobs=[_probability(entry) for entry in making.logprobs] if making.request.logprobs else [],
        )

    def _parts(self, prompt: Prompt) -> dict[str, int]:
        """Tokens of each part of the prompt; the template's own are what remains."""
        count = self._engine.count_text
        system, *_, last = prompt.messages
        question = last.content.rpartition("\n\nQuestion: ")[2]
        parts = {
            "instruction": count(system.content),
            "passages": sum(count(item.passage.text) for item in prompt.passages),
            "history": sum(count(f"{turn.question}{turn.answer}") for turn in prompt.history),
            "question": count(question),
        }
        return {**parts, "template": prompt.prompt_tokens - sum(parts.values())}


def _shown(item: NumberedPassage) -> NearestPassage:
    p = item.passage
    return NearestPassage(
        n=item.n,
        document_id=p.document_id,
        title=p.title,
        uri=p.uri,
        media_type=p.media_type,
        page=p.page_start,
        start=p.start,
        end=p.end,
        text=p.text,
        heading_path=list(p.heading_path),
        score=p.score,
    )


def _citations(draft: Draft, numbered: Sequence[NumberedPassage]) -> list[Citation]:
    """One citation a passage: the smallest span that holds everything it supports."""
    passages = {item.n: item.passage for item in numbered}
    spans: dict[int, tuple[int, int]] = {}
    for checked in draft.checked:
        for evidence in checked.verdict.evidence:
            start, end = spans.get(evidence.n, (evidence.span.start, evidence.span.end))
            spans[evidence.n] = (min(start, evidence.span.start), max(end, evidence.span.end))
    citations = []
    for n, (start, end) in sorted(spans.items()):
        p = passages[n]
        citations.append(
            Citation(
                n=n,
                document_id=p.document_id,
                document_version=p.document_version,
                title=p.title,
                uri=p.uri,
                media_type=p.media_type,
                page=p.page_start,
                start=start,
                end=end,
                quote=p.text[start - p.start : end - p.start],
                score=p.score,
                passage_start=p.start,
                passage_end=p.end,
            )
        )
    return citations


def _scores(item: NumberedPassage) -> PassageScores:
    p = item.passage
    return PassageScores(
        n=item.n,
        rank=p.rank,
        document_id=p.document_id,
        document_version=p.document_version,
        start=p.start,
        end=p.end,
        chunk_ids=list(p.chunk_ids),
        score=p.score,
        scores=asdict(p.scores),
    )


def _probability(entry: TokenLogprob) -> TokenProbability:
    return TokenProbability(
        token=entry.token, logprob=entry.logprob, alternatives={a.token: a.logprob for a in entry.alternatives}
    )
