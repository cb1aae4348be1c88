"""What a search promises: it finds what is there now, says why, and keeps to its filters."""

from datetime import UTC, datetime

import pytest

from folio.errors import EmbedderMismatch, EmptyQuestion, NotFound
from retrieval.passages import Filters


def test_a_committed_document_is_found_and_a_deleted_one_gone_at_the_next_search(library, searcher):
    library.put("moon.txt", "The Moon orbits the Earth in 27 days.")
    assert [p.uri for p in searcher.search("How long does the Moon take?")] == ["moon.txt"]
    sun = library.put("sun.txt", "The Sun is a star of spectral class G2V.")
    assert searcher.search("spectral class of the Sun")[0].uri == "sun.txt"
    assert searcher.contains_document("default", sun) == {"dense": True, "lexical": True}
    library.remove(sun)
    assert [p.uri for p in searcher.search("spectral class of the Sun")] == ["moon.txt"]
    assert searcher.contains_document("default", sun) == {"dense": False, "lexical": False}


def test_a_changed_document_answers_with_its_new_text_only(library, searcher):
    library.put("price.txt", "The ticket costs 40 euros.")
    searcher.search("ticket price")
    library.put("price.txt", "The ticket costs 55 euros.", "Children travel free.")
    texts = [p.text for p in searcher.search("ticket price", merge_neighbours=False)]
    assert "The ticket costs 55 euros." in texts
    assert not any("40 euros" in text for text in texts)


def test_a_passage_is_exactly_its_span_of_the_document(library, searcher):
    document = library.put("guide.txt", "Boil the water first.", "Then add the tea leaves.", "Wait four minutes.")
    passage = searcher.search("how to make tea", top_k=1)[0]
    whole = "Boil the water first.\n\nThen add the tea leaves.\n\nWait four minutes."
    assert passage.document_id == document
    assert passage.text == whole[passage.start : passage.end]
    assert passage.chunk_ids == tuple(sorted(passage.chunk_ids))


def test_every_passage_carries_both_legs_scores(library, searcher):
    library.put("a.txt", "Rust forms when iron meets oxygen and water.")
    library.put("b.txt", "Bread is made of flour, water and yeast.")
    first = searcher.search("why does iron rust")[0].scores
    assert first.dense_rank == 1
    assert first.lexical_rank == 1
    assert 0.3 < first.dense_score <= 1.0
    assert first.lexical_score > 0
    assert first.term_coverage > 0.2


def test_filters_limit_the_search_itself(library, searcher):
    for number in range(60):
        library.put(f"en/{number}.txt", f"Whales are mammals, note {number}.", tags=["sea"])
    kept = library.put(
        "kept/whale.md", "A whale is a mammal that lives in the sea.", media_type="text/markdown", tags=["rare"],
        meta={"shelf": "7"}, source_modified_at=datetime(2024, 5, 1, tzinfo=UTC),
    )  # fmt: skip
    for filters in (
        Filters(document_ids=(kept,)), Filters(media_types=("text/markdown",)), Filters(tags=("rare",)),
        Filters(uri_prefix="kept/"), Filters(metadata={"shelf": "7"}),
        Filters(modified_after=datetime(2024, 1, 1, tzinfo=UTC), modified_before=datetime(2025, 1, 1, tzinfo=UTC)),
    ):  # fmt: skip
        assert [p.document_id for p in searcher.search("whales", filters=filters)] == [kept]
    assert not searcher.search("whales", filters=Filters(languages=("fr",))).passages


def test_codes_and_identifiers_are_found_whole(library, searcher):
    library.put("errors.txt", "Error E-4012 means that the disk is full.")
    library.put("other.txt", "Error E-4013 means that the disk is slow.")
    library.put("code.txt", "Call foo_bar before the upgrade to v1.2.3 of the disk driver.")
    assert searcher.search("E-4012")[0].uri == "errors.txt"
    assert searcher.search("foo_bar")[0].uri == "code.txt"
    assert searcher.search("v1.2.3")[0].uri == "code.txt"


def test_chinese_is_found_across_scripts_and_widths(library, searcher):
    library.put("a.txt", "陸特和漢斯雷頓開創了歐洲對梵語的學術研究。", language="zh")
    library.put("b.txt", "戰國無雙是由光榮開發的電子遊戲。", language="zh")
    assert searcher.search("汉斯雷顿研究什么语言？")[0].uri == "a.txt"
    assert searcher.search("Ｗ战国无双是谁开发的？")[0].uri == "b.txt"


def test_an_empty_question_or_unknown_collection_is_a_clear_error(library, searcher):
    with pytest.raises(EmptyQuestion):
        searcher.search("   ")
    with pytest.raises(NotFound, match="nowhere"):
        searcher.search("whales", collection="nowhere")
    assert searcher.search("whales").passages == ()


def test_another_models_collection_is_refused_with_the_way_out(library, searcher):
    from folio.catalog.models import Collection

    with library.catalog.write() as session:
        session.get(Collection, library.info.id).embedding_fingerprint = "0" * 64
    with pytest.raises(EmbedderMismatch, match="FOLIO_EMBEDDING_MODEL"):
        searcher.search("whales")


def test_a_chinese_question_is_lent_no_terms_by_its_passages(library, searcher):
    library.put("a.txt", "梵语由 Monier Williams 研究。", language="zh")
    searcher.search("梵语研究")
    from retrieval.feedback import expand

    lexical = searcher._index(library.info.id).snapshot(0).lexical
    assert set(expand({"梵语": 1.0}, [("梵语由 Monier Williams 研究。", "zh", 1.0)], lexical)) == {"梵语"}
    assert "monier" in expand({"sanskrit": 1.0}, [("Monier Williams", "en", 1.0)], lexical)
