"""Chunks: exact offsets, nothing beyond what the embedder reads, Chinese cut at clause ends, tables between rows."""

import json
import os
import re
from pathlib import Path

import pytest

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
