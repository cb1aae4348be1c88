"""Chunks: exact offsets, nothing beyond what the embedder reads, Chinese cut at clause ends, tables between rows."""

import json
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.chunking import Chunker
from ingest.parsed import Parsed

ROOT = Path(__file__).parents[2]
EVALDATA = Path(os.environ.get("FOLIO_EVALDATA", ROOT.parent / "shared/evaldata"))
CHUNK_TOKENS = 200
CLOSING = r"”’）)》」』\]】〕"
# Where a sentence or clause of running text ends: after its marks and what closes after them, never in a number.
BOUNDARY = re.compile(
    rf"(?<=[。！？!?；;…，、：,:.])(?!(?<=\d[,:.])\d)[{CLOSING}]*(?![{CLOSING}。！？!?；;…，、：,:.])|\n"
)


@pytest.fixture(scope="module")
def chunker(embedder):
    return Chunker(embedder, chunk_tokens=CHUNK_TOKENS)


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
def test_chinese_chunks_begin_and_end_at_a_clause_unless_that_is_longer_than_a_chunk(chunker, embedder, name):
    cut, several = [], 0
    for text in chinese_paragraphs(name):
        chunks = check(chunker, embedder, Parsed(text=text))
        several += len(chunks) > 1
        edges = {0, len(text), *(match.end() for match in BOUNDARY.finditer(text))}
        assert not text[: chunks[0].start].strip()
        assert not text[chunks[-1].end :].strip()
        for before, after in pairwise(chunks):
            if not edges.isdisjoint(range(before.end, after.start + 1)):
                continue
            first, last = max(e for e in edges if e < before.end), min(e for e in edges if e > after.start)
            if embedder.count_tokens([text[first:last]])[0] <= CHUNK_TOKENS:
                cut.append(f"{text[first : before.end]} | {text[after.start : last]}")
    assert several > 100
    assert cut == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("他说：“水开了。”", "然后他走了"), ("他说：「好！」", "她没有回答"), ("（见第三章。）", "本章讲别的"),
        ("「真的？」，他问。", "没人回答"), ("他等了很久……", "门开了"),
    ],
)  # fmt: skip
def test_a_quote_or_bracket_stays_with_the_sentence_that_it_closes(embedder, left, right):
    text = left + right * 3 + "。"
    chunks = Chunker(embedder, chunk_tokens=embedder.count_tokens([right * 3 + "。"])[0]).split(Parsed(text=text), "")
    assert [chunk.text for chunk in chunks] == [left, right * 3 + "。"]


def test_a_number_is_not_cut_at_its_marks(embedder):
    text = " ".join(["从10:30到21:00有1,250人来过"] * 30)
    for limit in range(24, 40):
        for chunk in Chunker(embedder, chunk_tokens=limit).split(Parsed(text=text), ""):
            assert not re.search(r"\d[,:]$", chunk.text)
