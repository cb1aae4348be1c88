"""The whole folder of real files, hostile ones among them, in one job: each ends as its manifest states."""

import json
import os
import re
import threading
import unicodedata
from pathlib import Path

import pytest
from lxml import html

from folio.catalog.models import Document
from ingest.service import Ingestion
from ingest.worker import Worker
from retrieval.collections import Collections
from retrieval.generations import Generations
from retrieval.search import Searcher

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("FOLIO_EVALDATA", ROOT.parent / "shared/evaldata")) / "docs/dev"
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
TARGETS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
MIN_MEAN_RECALL = 0.97

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the evaluation documents are not at {FOLDER}")


def tokens(text: str) -> set[str]:
    plain = TARGETS.sub(r"\1", unicodedata.normalize("NFKC", text).lower())
    return {token for word in re.findall(r"\w+", plain) for token in CJK.findall(word) + CJK.sub(" ", word).split()}


def folded(text: str, entry: dict) -> str:
    text = unicodedata.normalize("NFKC", text)
    text = "".join(text.split()) if "cjk" in entry["tags"] else " ".join(text.split())
    return text.casefold() if entry.get("casefold") else text


def expected_text(entry: dict) -> str:
    text = (FOLDER / entry["expected_file"]).read_text(errors="replace")
    return html.fromstring(text).text_content() if entry["expected_file"].endswith(".html") else text


def ends_as_stated(behaviour: str, state: str, reason: str, found_all: bool) -> bool:
    done = state == "done"
    return {
        "text": done,
        "text_or_unsupported": done or reason == "unsupported",
        "ocr": reason == "no_text" or (done and found_all),
        "encrypted": reason == "encrypted",
        "reject": state == "failed",
        "reject_or_empty": state == "failed",
        "survive": state in ("done", "failed"),
    }[behaviour]


@pytest.mark.hostile
def test_every_real_file_ends_as_stated_and_its_text_is_found(catalog, settings, embedder):
    entries = [json.loads(line) for line in (FOLDER / "manifest-dev.jsonl").read_text().splitlines()]
    searcher = Searcher(catalog, embedder, settings)
    ingestion = Ingestion(catalog, settings, Collections(catalog, embedder))
    paths = [str(FOLDER / "files" / entry["file"]) for entry in entries]
    job = ingestion.submit_paths("default", paths)
    Worker(catalog, embedder, Generations(catalog, settings), settings).run(
        threading.Event(), finished=lambda: ingestion.job(job.id).is_finished
    )
    every = [item for item in ingestion.job(job.id).items if "!/" not in item.uri]
    items = {Path(item.catalog_uri).name: item for item in every}
    wrong, recalls = [], []
    for entry in entries:
        item = items[entry["file"]]
        with catalog.read() as session:
            document = session.get(Document, item.document_id) if item.document_id else None
            text = document.text if document else ""
        shown = folded(text, entry)
        groups = [[word] for word in entry["must_include"]] + entry.get("any_of", [])
        lost = [group for group in groups if not any(folded(word, entry) in shown for word in group)]
        if not ends_as_stated(entry["behaviour"], item.state, item.reason_code, not lost):
            wrong.append((entry["file"], entry["behaviour"], item.state, item.reason_code))
        if item.state == "done" and entry["behaviour"] != "survive" and lost:
            wrong.append((entry["file"], "lost", lost))
        wrong += [(entry["file"], "kept", word) for word in entry["must_not_include"] if folded(word, entry) in shown]
        if entry.get("expected_file") and document:
            wanted = tokens(expected_text(entry))
            recalls.append(len(wanted & tokens(text)) / len(wanted))
    searcher.close()
    assert wrong == []
    assert sum(recalls) / len(recalls) >= MIN_MEAN_RECALL
