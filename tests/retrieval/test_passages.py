"""A passage knows its pages."""

from retrieval.passages import Passage, StageScores


def passage(**more: object) -> Passage:
    base = {
        "rank": 1, "score": 1.0, "document_id": "d", "document_version": 1, "title": "t", "uri": "u",
        "media_type": "application/pdf", "language": "en", "heading_path": (), "page_start": 2, "page_end": 3,
        "start": 100, "end": 200, "text": "x" * 100, "chunk_ids": (1, 2), "scores": StageScores(),
    }  # fmt: skip
    return Passage(**{**base, **more})


def test_a_span_in_a_passage_over_two_pages_has_the_page_it_stands_on():
    merged = passage(page_starts=((100, 2), (150, 3)))
    assert [merged.page_at(position) for position in (100, 149, 150, 199)] == [2, 2, 3, 3]


def test_a_passage_of_one_chunk_has_that_chunks_page():
    assert passage().page_at(180) == 2
    assert passage(page_start=None).page_at(180) is None
