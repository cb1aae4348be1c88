"""Chunks: exact offsets, nothing beyond what the embedder reads, Chinese cut at clause ends, tables between rows."""

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.chunking import Chunker
from ingest.parsed import Parsed

ROOT = Path(__file__).parents[2]
EVALDATA = Path(os.environ.get("FOLIO_EVALDATA", ROOT.parent / "shared/evaldata"))
CLAUSE_END = '。！？!?；;…，、：,:."”’）)》」』]】'


@pytest.fixture(scope="module")
def chunker(embedder):
    return Chunker(embedder, chunk_tokens=200)


def check(chunker, embedder, parsed, title=""):
    chunks = chunker.split(parsed, title)
    for chunk in chunks:
        assert chunk.text == parsed.text[chunk.start : chunk.end]
        assert embedder.count_tokens([chunk.embedded])[0] <= embedder.max_tokens - 2
    covered = "".join(parsed.text[chunk.start : chunk.end] for chunk in chunks)
    assert "".join(re.findall(r"\w", covered)) == "".join(re.findall(r"\w", parsed.text))
    return chunks


def test_offsets_are_exact_and_every_word_is_in_one_chunk(chunker, embedder):
    text = "# Tea\n\n" + "Water boils. " * 200 + "\n\n## Milk\n\nCold.\n\n## Sugar\n\nSweet! " + "x" * 3000
    chunks = check(chunker, embedder, Parsed(text=text, has_headings=True), "Drinks")
    assert chunks[0].heading_path == ("Tea",)


def test_a_table_is_cut_between_rows_and_its_header_goes_along(chunker, embedder):
    rows = "\n".join(f"| item {number} | {number * 7} | in stock |" for number in range(120))
    text = f"| Name | Price | State |\n| --- | --- | --- |\n{rows}"
    chunks = check(chunker, embedder, Parsed(text=text, has_headings=True))
    assert len(chunks) > 3
    assert all(line.startswith("|") and line.endswith("|") for chunk in chunks for line in chunk.text.splitlines())
    assert all("Name, Price, State" in chunk.embedded for chunk in chunks[1:])


WORDS = st.sampled_from(
    ["tea", "E-4012", "水壶烧开了", "boils", "état", "9.5", "🙂", "naïve", "x" * 40, "，", "。", ". ", "#"]
)
LINES = st.lists(WORDS, min_size=1, max_size=60).map(" ".join)
TABLES = st.lists(st.lists(st.sampled_from(["a", "17", "in stock", "水"]), min_size=3, max_size=3), max_size=40).map(
    lambda rows: "\n".join(f"| {' | '.join(row)} |" for row in [["Name", "Price", "State"], ["---"] * 3, *rows])
)
HEADINGS = st.tuples(st.integers(1, 4), st.sampled_from(["Tea", "热水", "Long " * 60])).map(
    lambda made: f"{'#' * made[0]} {made[1].strip()}"
)
TEXTS = st.lists(st.one_of(LINES, TABLES, HEADINGS), min_size=1, max_size=12).map("\n\n".join)


@settings(max_examples=40, deadline=None)
@given(text=TEXTS, title=st.sampled_from(["", "Drinks", "A title " * 40]), limit=st.sampled_from([32, 64, 200, 4000]))
def test_whatever_the_text_nothing_is_lost_or_too_long_and_no_row_is_cut(embedder, text, title, limit):
    chunks = check(Chunker(embedder, chunk_tokens=limit), embedder, Parsed(text=text, has_headings=True), title)
    for chunk in chunks:
        assert embedder.count_tokens([chunk.embedded])[0] <= min(limit, embedder.max_tokens - 2)
        for place in (chunk.start, chunk.end):
            line = text[text.rfind("\n", 0, place) + 1 : (text + "\n").find("\n", place)]
            at_edge = not text[:place].rpartition("\n")[2].strip() or not text[place:].partition("\n")[0].strip()
            assert at_edge or not line.startswith("| ")


def chinese_paragraphs(name):
    folder = EVALDATA / name / "common"
    if not folder.is_dir():
        pytest.skip(f"the evaluation sets are not at {EVALDATA}")
    for path in sorted(folder.glob("corpus*.jsonl")):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if re.search(r"[\u4e00-\u9fff]", entry["text"][:50]):
                yield entry["text"]


@pytest.mark.parametrize("name", ["xquad", "cmrc2018"])
def test_chinese_chunks_end_at_a_clause_unless_one_sentence_is_longer(chunker, embedder, name):
    paragraphs = list(chinese_paragraphs(name))[:240]
    assert len(paragraphs) > 100
    cut, several = [], 0
    for text in paragraphs:
        chunks = check(chunker, embedder, Parsed(text=text))
        several += len(chunks) > 1
        for chunk in chunks[:-1]:
            ended = chunk.text[-1] in CLAUSE_END or "\n" in text[chunk.end : chunk.end + 2]
            clause = re.split(r"[。！？!?；;…，、：,:]", chunk.text)[-1]
            if not ended and embedder.count_tokens([clause])[0] < 150:
                cut.append(chunk.text[-30:])
    assert several > 20
    assert cut == []
