"""A deleted document is gone from everywhere at once, and from what was answered with it."""

import os
import time

import pytest
from sqlalchemy import func, select

from folio.catalog.models import Answer, Chunk, Collection, Conversation, Document
from folio.catalog.withdrawal import NOTICES
from generation.answer import Answer as AnswerView
from generation.answer import Citation, NearestPassage, Sentence, Timing, Usage
from generation.conversations import Conversations
from generation.receipts import PassageScores, PromptMessage, Receipt, Receipts
from ingest.leftovers import sweep
from ingest.reconciliation import differences

SECRET = "The vault code is 4711."


def put(folio, name, text):
    job = folio.ingestion.submit("default", [folio.file(name, text)])
    return folio.commit(folio.leases().take(job.items[0].id), text)


def answer_from(folio, document_id, *, cites: bool, conversation=None, prompt=SECRET):
    """A stored answer whose passages hold the document, with the secret wherever a receipt may keep it."""
    place = {"document_id": document_id, "title": "t", "uri": "u", "media_type": "text/plain", "page": None}
    passage = NearestPassage(n=1, **place, start=0, end=23, text=SECRET, heading_path=[], score=1)
    citation = Citation(
        n=1, **place, document_version=1, start=0, end=23, quote=SECRET, score=1, passage_start=0, passage_end=23
    )
    said = SECRET if cites else "Nothing of it."
    answer = AnswerView(
        answer_id=os.urandom(16).hex(), conversation_id=conversation, question="What is it?", collection="default",
        language="en", answer=said, refused=False, citations=[citation] if cites else [], passages=[passage],
        sentences=[Sentence(text=said, start=0, end=len(said), citations=[1], supported=True)], thinking=SECRET,
        usage=Usage(), timing=Timing(), model="m",
    )  # fmt: skip
    scores = PassageScores(
        n=1, rank=1, document_id=document_id, document_version=1, start=0, end=23, chunk_ids=[1], score=1, scores={}
    )
    receipt = Receipt(
        answer=answer, owner="", collection="default", search_query="What is it?", index_generation="g", weights={},
        passages=[scores], prompt=[PromptMessage(role="user", content=prompt)], prompt_tokens_by_part={},
        dropped_passages=0, dropped_turns=0, sampling={}, max_tokens=10, raw=said, finish_reason="stop",
        refusal_probability=0, refusal_threshold=1, signals={},
    )  # fmt: skip
    with folio.catalog.read() as session:
        collection_id = session.scalar(select(Collection.id))
    Receipts(folio.catalog).store(receipt, collection_id)
    return answer.answer_id


def everything_stored(folio):
    with folio.catalog.read() as session:
        return " ".join(
            f"{row.answer} {row.rewritten_question} {row.receipt}" for row in session.scalars(select(Answer))
        )


def test_the_receipt_says_what_was_looked_at(folio):
    document_id = put(folio, "a.txt", SECRET)
    put(folio, "b.txt", "Something else.")
    receipt = folio.documents.delete(document_id)
    assert set(receipt.checked) == {"catalog", "chunks", "files", "conversations", "dense", "lexical"}
    assert (receipt.verified, receipt.chunks_removed, receipt.file_shared) == (True, 1, False)
    assert differences(folio.catalog, folio.generations, folio.settings) == []


def test_a_twin_keeps_the_file_and_the_receipt_says_so(folio):
    first, second = put(folio, "a.txt", SECRET), put(folio, "b.txt", SECRET)
    sha256 = folio.documents.get(first).sha256
    assert folio.documents.delete(first).file_shared
    assert folio.storage.path(sha256).exists()
    receipt = folio.documents.delete(second)
    assert (receipt.file_shared, receipt.verified) == (False, True)
    assert not folio.storage.path(sha256).exists()


def test_an_answer_that_cited_the_document_no_longer_shows_its_text(folio):
    document_id = put(folio, "a.txt", SECRET)
    conversations = Conversations(folio.catalog)
    with folio.catalog.read() as session:
        conversation = conversations.create(session.scalar(select(Collection.id)), "What is it?", "")
    cited = answer_from(folio, document_id, cites=True, conversation=conversation)
    shown = answer_from(folio, document_id, cites=False)
    other = answer_from(folio, put(folio, "b.txt", "Else."), cites=False, conversation=conversation)
    receipt = folio.documents.delete(document_id)
    assert (receipt.answers_withdrawn, receipt.checked["conversations"]) == (2, True)
    receipts = Receipts(folio.catalog)
    first = conversations.get(conversation).items[0]
    assert (first.answer, first.citations, first.passages) == (NOTICES["en"], [], [])
    assert first.refused, "later turns leave refused answers out of their history"
    assert receipts.get(cited).prompt == []
    assert receipts.get(shown).answer.answer == "Nothing of it."
    assert receipts.get(shown).passages == []
    assert receipts.get(other).prompt == [], "it may have repeated the turn before"
    assert document_id not in everything_stored(folio)
    with folio.catalog.read() as session:
        rows = session.scalars(select(Answer).where(Answer.id.in_([cited, shown]))).all()
    assert SECRET not in " ".join(f"{row.answer} {row.receipt}" for row in rows)


def test_doctor_finds_stored_files_that_nothing_needs(folio):
    put(folio, "a.txt", "needed")
    folio.generations.publish(folio.collections.get("default").id)
    lost = folio.storage.path(folio.file("b.txt", "never submitted").sha256)
    assert differences(folio.catalog, folio.generations, folio.settings) == [], "it may be on its way"
    long_ago = time.time() - 10_000
    os.utime(lost, (long_ago, long_ago))
    [line] = differences(folio.catalog, folio.generations, folio.settings)
    assert lost.name in line
    assert sweep(folio.catalog, folio.storage) == 1
    assert differences(folio.catalog, folio.generations, folio.settings) == []


@pytest.mark.hostile
def test_one_of_a_thousand_documents_is_gone_from_every_place_at_once(folio, tmp_path):
    for number in range(1000):
        words = f"Barrel {number} holds brine of the vintage {number * 7919 % 10007}. 第{number}号桶里是盐水。"
        (tmp_path / f"{number:04d}.txt").write_text(words, encoding="utf-8")
    job = folio.work(folio.ingestion.submit_paths("default", [str(tmp_path)]))
    assert job.files.done == 1000
    victim = folio.documents.list("default", query="0500.txt").items[0]
    question = "Which vintage does the brine in barrel 500 have?"
    assert victim.id in {passage.document_id for passage in folio.searcher.search(question, top_k=50).passages}
    answer_from(folio, victim.id, cites=True)
    receipt = folio.documents.delete(victim.id)
    assert receipt.verified, receipt
    assert not any(folio.searcher.contains_document("default", victim.id).values())
    for query in (question, "第500号桶里是什么？", "500", victim.title):
        assert victim.id not in {passage.document_id for passage in folio.searcher.search(query, top_k=1000).passages}
    with folio.catalog.read() as session:
        assert session.get(Document, victim.id) is None
        assert session.scalar(select(func.count()).where(Chunk.document_id == victim.id)) == 0
        assert session.scalar(select(func.count()).select_from(Document)) == 999
        assert session.scalar(select(func.count()).select_from(Conversation)) == 0
    assert not folio.storage.path(victim.sha256).exists()
    assert victim.id not in everything_stored(folio)
    assert folio.generations.verify(folio.collections.get("default").id) == []
    assert differences(folio.catalog, folio.generations, folio.settings) == []
