"""From a question to a checked, cited answer: admit, search, assemble, generate, verify, decide, keep the receipt."""

import time
from collections.abc import Generator, Iterator
from contextlib import closing

from sqlalchemy import select

from folio import metrics
from folio.catalog import Catalog
from folio.catalog.models import Collection
from folio.errors import EmptyQuestion, FolioError, NotFound
from folio.settings import Settings
from folio.tracing import span
from generation.admission import Admission
from generation.agent import Agent
from generation.answer import Answer, AskRequest, Turn
from generation.cancellation import CancellableIterator, Cancelled
from generation.concluding import conclude, shown_passage, write_receipt
from generation.conversations import Conversations
from generation.draft import Draft
from generation.engine import Engine, EngineToken, GenerationRequest
from generation.events import Done, Event, Failed, PassagesFound, SentenceChecked, Thinking, Token
from generation.language import question_language
from generation.making import Making
from generation.prompt import Prompt, Window, assemble, keep_places
from generation.quoting import quotation
from generation.receipts import Receipts
from generation.refusal import Decision, may_become_marker, read_signals, refusal_probability, says_not_found
from generation.rewriting import needs_context, rewrite
from generation.support import SupportChecker
from retrieval.search import Searcher

REPORTED_ALTERNATIVES = 10


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
        self._agent = Agent(catalog, searcher, engine)
        self._admission = Admission(engine, max_waiting=settings.max_waiting, per_owner=settings.max_answers_per_key)

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

    def stream(self, request: AskRequest) -> CancellableIterator[Event]:
        """The answer while it is made. Closing the iterator, from any thread, aborts the generation in the engine.

        Raises:
            FolioError: before the first event only; later an error comes as `Failed`.
        """
        return CancellableIterator(self._counted(request))

    def _counted(self, request: AskRequest) -> Generator[Event, None, None]:
        begun = done = False
        try:
            with span("answer", collection=request.collection, mode=request.mode):
                for event in self._events(request):
                    begun, done = True, isinstance(event, Done)
                    yield event
        except FolioError as exc:
            metrics.ANSWERS.labels("failed").inc()
            if not begun:
                raise
            yield Failed(exc)
        except (GeneratorExit, Cancelled):
            if not done:
                metrics.ANSWERS.labels("abandoned").inc()
            raise

    def _events(self, request: AskRequest) -> Iterator[Event]:
        making = self._begin(request)
        with self._admission.admit(request.owner):
            making.queue_ms = making.elapsed_ms()
            with span("retrieval"):
                self._search(making)
            yield PassagesFound(tuple(shown_passage(item) for item in making.numbered), making.retrieval_ms)
            if making.numbered:
                with span("prompt"):
                    prompt = self._assemble(making)
                yield from self._write(making, prompt)
        decision = self._decide(making)
        if not decision.refused:
            yield from _timed(making, _quoted(making))
        yield Done(self._finish(making, decision))

    def _begin(self, request: AskRequest) -> Making:
        if not request.question.strip():
            raise EmptyQuestion("The question is empty. Write what you want to know.")
        with self._catalog.read() as session:
            collection_id = session.scalar(select(Collection.id).where(Collection.name == request.collection))
        if collection_id is None:
            raise NotFound(
                f"There is no collection named {request.collection!r}. `folio collections` lists those there are."
            )
        making = Making(request, collection_id, question_language(request.question), time.perf_counter())
        making.history = request.history
        if request.conversation_id is not None:
            items = [item for item in self._conversations.get(request.conversation_id).items if not item.refused]
            making.history = tuple(Turn(item.question, item.answer) for item in items)
            making.before = items[-1].passages if items else []
        return making

    def _search(self, making: Making) -> None:
        request = making.request
        making.search_query = request.question
        began = time.perf_counter()
        if making.history and needs_context(request.question):
            making.search_query = rewrite(self._engine, making.history, request.question)
        making.found = self._searcher.search(
            making.search_query, collection=request.collection, top_k=request.top_k, filters=request.filters
        )
        passages = making.found.passages
        if request.mode == "agent":
            passages, making.steps = self._agent.gather(request, making.search_query, passages)
        making.numbered = keep_places(passages, making.before)
        making.retrieval_ms = (time.perf_counter() - began) * 1000
        metrics.RETRIEVAL_SECONDS.observe(making.retrieval_ms / 1000)

    def _assemble(self, making: Making) -> Prompt:
        window = Window(
            self._engine.context_length(),
            (making.request.sampling.max_tokens or self._settings.answer_tokens) + self._settings.thinking_tokens,
            self._settings.prompt_margin_tokens,
        )
        count = self._engine.count_messages
        making.prompt = assemble(
            making.request.question, making.numbered, making.history, window, count, making.search_query
        )
        making.numbered = making.prompt.passages
        checker = SupportChecker(making.search_query, making.numbered)
        making.draft = Draft(checker, frozenset(item.n for item in making.numbered))
        return making.prompt

    def _write(self, making: Making, prompt: Prompt) -> Iterator[Event]:
        """Generate and check; text that may still turn out to be the refusal marker is held back."""
        assert making.draft is not None
        request = GenerationRequest(
            prompt.messages,
            making.request.sampling,
            prompt.max_tokens,
            thinking_tokens=min(self._settings.thinking_tokens, prompt.max_tokens),
            top_logprobs=REPORTED_ALTERNATIVES,
            affinity=making.request.conversation_id or making.collection_id,
        )
        held = ""
        with closing(self._engine.stream_chat(request)) as stream:  # type: ignore[type-var]  # a generator
            for token in stream:
                _note(making, token)
                if token.thinking and making.request.thinking == "show":
                    yield Thinking(token.thinking)
                held += token.text
                if token.text and not may_become_marker(making.raw):
                    yield from _timed(making, making.draft.feed(held))
                    held = ""
        if not says_not_found(making.raw):
            yield from _timed(making, making.draft.feed(held))
            yield from _timed(making, making.draft.finish())

    def _decide(self, making: Making) -> Decision:
        """Whether to refuse, by what the model itself wrote."""
        checked = making.draft.checked if making.draft else []
        verdicts = [item.verdict for item in checked]
        signals = read_signals(making.search_query, making.numbered, making.logprobs, verdicts, making.raw)
        is_empty = all(verdict.is_empty for verdict in verdicts)
        probability = 1.0 if is_empty else refusal_probability(signals)
        threshold = self._settings.refusal_threshold
        return Decision(signals, probability, threshold, refused=is_empty or probability > threshold)

    def _finish(self, making: Making, decision: Decision) -> Answer:
        answer = conclude(
            making,
            refused=decision.refused,
            model=self._engine.model_name(),
            conversation_id=self._conversation(making.request, making.collection_id),
        )
        receipt = write_receipt(making, answer, decision, count=self._engine.count_text)
        answer = self._receipts.store(receipt, making.collection_id).answer
        _observe(making, answer)
        return answer

    def _conversation(self, request: AskRequest, collection_id: str) -> str:
        """The conversation that the answer belongs to; a first question begins one."""
        if request.conversation_id is None:
            return self._conversations.create(collection_id, request.question, request.owner)
        self._conversations.touch(request.conversation_id)
        return request.conversation_id


def _note(making: Making, token: EngineToken) -> None:
    making.usage = token.usage or making.usage
    making.finish_reason = token.finish_reason or making.finish_reason
    making.raw += token.text
    if token.thinking:
        making.thinking += token.thinking
        making.thinking_pieces += 1
    else:
        making.logprobs.extend(token.logprobs)
    if (token.text or token.thinking) and not making.first_token_ms:
        making.first_token_ms = making.elapsed_ms()


def _quoted(making: Making) -> Iterator[Token | SentenceChecked]:
    """What the sources say, where no sentence of the answer could be tied to them; nothing behind one that was cut."""
    draft = making.draft
    if draft is None or any(item.verdict.supported for item in draft.checked) or making.finish_reason == "length":
        return
    found = quotation(making.search_query, draft.text, making.numbered, making.language)
    if found is not None:
        yield from draft.quote(found)


def _timed(making: Making, events: Iterator[Token | SentenceChecked]) -> Iterator[Event]:
    for event in events:
        making.ttft_ms = making.ttft_ms or making.elapsed_ms()
        yield event


def _observe(making: Making, answer: Answer) -> None:
    """Add the answer to the figures that Prometheus reads."""
    metrics.ANSWERS.labels("refused" if answer.refused else "answered").inc()
    metrics.QUEUE_SECONDS.observe(answer.timing.queue_ms / 1000)
    metrics.ANSWER_TTFT_SECONDS.observe(answer.timing.ttft_ms / 1000)
    if answer.usage.completion_tokens > 1:
        decode_ms = answer.timing.total_ms - making.first_token_ms
        metrics.ANSWER_TPOT_SECONDS.observe(decode_ms / 1000 / (answer.usage.completion_tokens - 1))
    metrics.PROMPT_TOKENS.inc(answer.usage.prompt_tokens)
    metrics.CACHED_TOKENS.inc(answer.usage.cached_tokens)
    metrics.COMPLETION_TOKENS.inc(answer.usage.completion_tokens)
    metrics.THINKING_TOKENS.inc(answer.usage.thinking_tokens)
    for sentence in answer.sentences:
        metrics.SENTENCES.labels(str(sentence.supported).lower()).inc()
