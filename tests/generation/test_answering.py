"""The whole path over real retrieval, with an engine that follows a script: citations, refusals, receipts, history."""

import pytest

from folio.catalog import Catalog
from folio.catalog.models import Answer as AnswerRow
from folio.catalog.models import Collection, Document
from folio.catalog.models import Conversation as ConversationRow
from folio.catalog.withdrawal import NOTICES, withdraw_answers
from folio.errors import EmptyQuestion, EngineFailed, EngineNotReady, NotFound, TooManyRequests
from generation.answer import AskRequest
from generation.conversations import Conversations
from generation.engine import EngineToken
from generation.events import Done, Failed, PassagesFound, Thinking, Token
from generation.receipts import Receipts
from generation.replay import Replayer
from retrieval.collections import Collections

TEXT = "The Larkmoor Observatory was founded in 1874 by Edmund Hale. Its mirror measures 91 centimetres."
QUESTION = "Who founded the Larkmoor Observatory?"
ANSWER = "The Larkmoor Observatory was founded in 1874 by Edmund Hale [1]."


def test_an_answer_cites_the_exact_span(answerer_over, scripted, catalog: Catalog) -> None:
    answer = answerer_over(scripted("The Larkmoor Observatory was founded in 1874 ", "by Edmund Hale [5].")).ask(
        AskRequest(question=QUESTION)
    )
    assert answer.answer == ANSWER
    assert not answer.refused
    with catalog.read() as session:
        text = session.get(Document, answer.citations[0].document_id).text
    for citation in answer.citations:
        assert citation.quote == text[citation.start : citation.end]
    assert answer.usage.cached_tokens == 64


def test_the_tokens_sent_join_to_the_answer(answerer_over, scripted) -> None:
    events = list(answerer_over(scripted(*ANSWER)).stream(AskRequest(question=QUESTION)))
    assert isinstance(events[0], PassagesFound)
    assert isinstance(events[-1], Done)
    assert "".join(e.text for e in events if isinstance(e, Token)) == events[-1].answer.answer == ANSWER


def test_the_marker_becomes_a_refusal_in_the_questions_language(answerer_over, scripted) -> None:
    answerer = answerer_over(scripted("NOT", "_FOUND"))
    events = list(answerer.stream(AskRequest(question="西班牙国王是谁？")))
    assert not [e for e in events if isinstance(e, Token)]
    answer = events[-1].answer
    assert answer.refused
    assert "没有找到" in answer.answer
    assert answer.passages
    assert "could not find" in answerer.ask(AskRequest(question="Who is the king of Spain?")).answer


@pytest.mark.parametrize(
    ("question", "echo"),
    [(QUESTION, QUESTION), ("拉克莫尔天文台位于哪里？", "拉克莫尔天文台位于。")],
)
def test_a_reply_that_only_repeats_the_question_is_a_refusal(answerer_over, scripted, question: str, echo: str) -> None:
    answer = answerer_over(scripted(echo), refusal_threshold=1.0).ask(AskRequest(question=question))
    assert answer.refused
    assert answer.passages


def test_an_unsupported_answer_to_a_question_about_something_else_is_refused_late(answerer_over, scripted) -> None:
    answer = answerer_over(scripted("Felipe VI is the king of Spain [1].")).ask(
        AskRequest(question="Who is the king of Spain?")
    )
    assert answer.refused
    assert not answer.citations


def test_thinking_is_apart_hidden_unless_asked_and_never_cited(answerer_over, scripted) -> None:
    engine = scripted(EngineToken(thinking="The source says 1874. [1]"), ANSWER)
    answerer = answerer_over(engine)
    hidden = list(answerer.stream(AskRequest(question=QUESTION)))
    assert not [e for e in hidden if isinstance(e, Thinking)]
    assert hidden[-1].answer.thinking is None
    shown = list(answerer.stream(AskRequest(question=QUESTION, thinking="show")))
    assert "".join(e.text for e in shown if isinstance(e, Thinking)) == "The source says 1874. [1]"
    assert shown[-1].answer.answer == ANSWER
    assert shown[-1].answer.usage.thinking_tokens == 1


def test_a_receipt_tells_how_the_answer_was_made_and_replays(answerer_over, scripted, catalog: Catalog) -> None:
    engine = scripted(ANSWER)
    answer = answerer_over(engine).ask(AskRequest(question=QUESTION))
    receipt = Receipts(catalog).get(answer.answer_id)
    assert receipt.raw == ANSWER
    assert receipt.prompt[-1].content.endswith(QUESTION)
    assert set(receipt.prompt_tokens_by_part) == {"instruction", "passages", "history", "question", "template"}
    replay = Replayer(catalog, engine).replay(answer.answer_id)
    assert replay.same
    assert replay.changed_passages == []


def test_a_conversation_keeps_history_and_is_really_deleted(answerer_over, scripted, catalog: Catalog) -> None:
    engine = scripted(ANSWER)
    answerer = answerer_over(engine)
    first = answerer.ask(AskRequest(question=QUESTION, owner="k"))
    second = answerer.ask(
        AskRequest(question="Who founded the Larkmoor Observatory, and when?", conversation_id=first.conversation_id)
    )
    roles = [m.role for m in engine.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "user"]
    conversations = Conversations(catalog)
    assert [item.answer_id for item in conversations.get(first.conversation_id).items] == [
        first.answer_id,
        second.answer_id,
    ]
    assert [c.id for c in conversations.list("k")] == [first.conversation_id]
    conversations.delete(first.conversation_id)
    with catalog.read() as session:
        assert session.query(AnswerRow).count() == 0
    with pytest.raises(NotFound):
        conversations.get(first.conversation_id)


@pytest.fixture
def interrupted(scripted):
    """An engine that calls `meanwhile` before it writes."""

    class FakeInterruptedEngine(scripted):
        def meanwhile(self) -> None:
            pass

        def stream_chat(self, request):
            self.meanwhile()
            yield from super().stream_chat(request)

    return FakeInterruptedEngine(ANSWER)


def test_a_document_deleted_while_an_answer_is_made_is_not_in_it(answerer_over, interrupted, catalog: Catalog) -> None:
    engine = interrupted
    answerer = answerer_over(engine)
    engine.meanwhile = lambda: delete_documents(catalog)
    answer = answerer.ask(AskRequest(question=QUESTION, logprobs=True, thinking="show"))
    assert (answer.answer, answer.refused) == (NOTICES["en"], True)
    assert (answer.citations, answer.passages, answer.sentences) == ([], [], [])
    assert Receipts(catalog).get(answer.answer_id).answer == answer
    assert "Hale" not in everything_stored(catalog)


def test_a_document_deleted_during_a_later_turn_is_not_in_its_prompt(answerer_over, interrupted, catalog) -> None:
    engine = interrupted
    answerer = answerer_over(engine)
    first = answerer.ask(AskRequest(question=QUESTION))
    engine.meanwhile = lambda: delete_documents(catalog)
    answerer.ask(AskRequest(question="Who built the Mirrorfield clock?", conversation_id=first.conversation_id))
    assert "Hale" in str(engine.requests[-1].messages)
    assert "Hale" not in everything_stored(catalog)


@pytest.fixture(params=["collection", "conversation"])
def delete_place(request, catalog: Catalog, embedder):
    """Deletes the collection, or the conversation, that an answer belongs to."""
    if request.param == "collection":
        return lambda _: Collections(catalog, embedder).delete("default")
    return lambda answer: Conversations(catalog).delete(answer.conversation_id)


def test_what_is_deleted_while_an_answer_is_made_takes_the_answer_with_it(
    answerer_over, interrupted, catalog: Catalog, delete_place
) -> None:
    answerer = answerer_over(interrupted)
    first = answerer.ask(AskRequest(question=QUESTION))
    interrupted.meanwhile = lambda: delete_place(first)
    events = list(answerer.stream(AskRequest(question=QUESTION, conversation_id=first.conversation_id)))
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, NotFound)
    assert everything_stored(catalog) == ""


def test_a_receipt_is_refused_where_its_place_is_gone(
    answerer_over, interrupted, catalog: Catalog, delete_place
) -> None:
    answer = answerer_over(interrupted).ask(AskRequest(question=QUESTION))
    receipt = Receipts(catalog).get(answer.answer_id)
    with catalog.read() as session:
        collection_id = session.query(Collection.id).scalar()
    delete_place(answer)
    with pytest.raises(NotFound, match="deleted while"):
        Receipts(catalog).store(receipt, collection_id)


def test_a_collection_deleted_during_the_first_answer_leaves_no_conversation(
    answerer_over, interrupted, catalog: Catalog, embedder
) -> None:
    answerer = answerer_over(interrupted)
    interrupted.meanwhile = lambda: Collections(catalog, embedder).delete("default")
    with pytest.raises(NotFound, match="deleted while"):
        answerer.ask(AskRequest(question=QUESTION))
    with catalog.read() as session:
        assert session.query(ConversationRow).count() == 0


def delete_documents(catalog: Catalog) -> None:
    with catalog.write() as session:
        for document in session.query(Document):
            session.delete(document)
            session.flush()
            withdraw_answers(session, document.collection_id, document.id)


def everything_stored(catalog: Catalog) -> str:
    with catalog.read() as session:
        return " ".join(f"{row.answer} {row.rewritten_question} {row.receipt}" for row in session.query(AnswerRow))


def test_a_follow_up_is_rewritten_only_when_it_refers_back() -> None:
    from generation.rewriting import needs_context

    assert needs_context("When was it built?")
    assert needs_context("它是谁建的？")
    assert not needs_context("Who founded the Larkmoor Observatory in England?")


def test_leaving_ends_the_generation(answerer_over, scripted) -> None:
    engine = scripted(*ANSWER)
    stream = answerer_over(engine).stream(AskRequest(question=QUESTION))
    next(e for e in stream if isinstance(e, Token))
    stream.close()
    assert engine.closed == 1


def test_overload_and_an_engine_that_loads_are_said_before_any_work(answerer_over, scripted) -> None:
    engine = scripted(ANSWER)
    engine.waiting = 40
    with pytest.raises(TooManyRequests) as busy:
        answerer_over(engine).ask(AskRequest(question=QUESTION))
    assert busy.value.retry_after_s
    engine.ready = False
    with pytest.raises(EngineNotReady):
        answerer_over(engine).ask(AskRequest(question=QUESTION))


def test_a_failure_after_the_first_event_is_an_event(answerer_over, scripted) -> None:
    class FakeDyingEngine(scripted):
        def stream_chat(self, request):
            yield EngineToken("The Larkmoor ")
            raise EngineFailed("It stopped.")

    events = list(answerer_over(FakeDyingEngine()).stream(AskRequest(question=QUESTION)))
    assert isinstance(events[-1], Failed)


def test_bad_requests_are_refused_at_once(answerer_over, scripted) -> None:
    with pytest.raises(EmptyQuestion):
        answerer_over(scripted(ANSWER)).ask(AskRequest(question="  "))
    with pytest.raises(NotFound):
        answerer_over(scripted(ANSWER)).ask(AskRequest(question=QUESTION, collection="none"))


def test_agent_mode_runs_only_valid_calls_and_keeps_the_trace(answerer_over, scripted, catalog: Catalog) -> None:
    class FakeAgentEngine(scripted):
        def stream_chat(self, request):
            if request.json_schema is None:
                yield from super().stream_chat(request)
                return
            self.calls = getattr(self, "calls", 0) + 1
            yield EngineToken(
                '{"tool": "list_documents", "argument": ""}' if self.calls == 1 else '{"tool": "rm", "argument": "/"}'
            )

    answer = answerer_over(FakeAgentEngine(ANSWER)).ask(AskRequest(question=QUESTION, mode="agent"))
    assert answer.answer == ANSWER
    steps = Receipts(catalog).get(answer.answer_id).steps
    assert [step.tool for step in steps] == ["list_documents"]
    assert "Larkmoor" in steps[0].result
