"""Reads a folder of judged questions.

Two layouts: `common/corpus*.jsonl` with `<split>/queries-<split>.jsonl` and `qrels-<split>.tsv`, or with
`<split>/questions-<split>.jsonl` whose lines name their documents; or a folder of documents with a `questions.jsonl`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from folio.errors import InvalidRequest


@dataclass(frozen=True)
class EvalDocument:
    """A document of the corpus; `path` is set instead of `text` when it is a file."""

    id: str
    title: str
    text: str
    language: str = ""
    withheld: bool = False
    path: Path | None = None


@dataclass(frozen=True)
class EvalQuestion:
    """A question and the ids of its relevant documents with their grade."""

    id: str
    text: str
    language: str
    relevant: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class EvalSet:
    """A corpus with questions judged on it."""

    name: str
    documents: tuple[EvalDocument, ...]
    questions: tuple[EvalQuestion, ...]


def read_set(folder: Path, split: str = "dev", language: str = "") -> EvalSet:
    """Read a set, keeping the questions that have judgements and, if given, the language (`zh` keeps `zh-Hant` too).

    Raises:
        InvalidRequest: the folder has neither layout, or no question is left.
    """
    if (folder / "questions.jsonl").is_file():
        documents, questions = tuple(_files(folder)), _questions(folder / "questions.jsonl")
    else:
        corpus = sorted((folder / "common").glob("corpus*.jsonl"))
        if not corpus:
            raise InvalidRequest(f"{folder} holds no questions: it needs common/corpus.jsonl or questions.jsonl.")
        documents = tuple(_document(line) for file in corpus for line in _lines(file))
        questions = _judged(folder / split, split)
    kept = tuple(q for q in questions if q.relevant and language in ("", q.language, q.language.partition("-")[0]))
    if not kept:
        raise InvalidRequest(f"{folder} has no judged question for split {split!r} and language {language or 'any'!r}.")
    return EvalSet(folder.name, _with_language(documents, questions), kept)


def _judged(folder: Path, split: str) -> tuple[EvalQuestion, ...]:
    questions, queries = folder / f"questions-{split}.jsonl", folder / f"queries-{split}.jsonl"
    if questions.is_file():
        return _questions(questions)
    if not queries.is_file():
        raise InvalidRequest(f"{folder} has neither {questions.name} nor {queries.name}.")
    relevant = _qrels(folder / f"qrels-{split}.tsv")
    return tuple(
        EvalQuestion(str(q["id"]), q["text"], q.get("lang", "en"), relevant.get(str(q["id"]), {}))
        for q in _lines(queries)
    )


def _questions(file: Path) -> tuple[EvalQuestion, ...]:
    return tuple(
        EvalQuestion(
            str(q.get("id", number)),
            q["question"],
            q.get("lang", "en"),
            dict.fromkeys(map(str, q.get("doc_ids") or filter(None, [q.get("document")])), 1),
        )
        for number, q in enumerate(_lines(file))
    )


def _qrels(file: Path) -> dict[str, dict[str, int]]:
    relevant: dict[str, dict[str, int]] = {}
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(question, {})[document] = int(grade)
    return relevant


def _document(line: dict[str, Any]) -> EvalDocument:
    return EvalDocument(
        str(line["id"]), line.get("title", ""), line["text"], line.get("lang", ""), bool(line.get("withheld"))
    )


def _files(folder: Path) -> Iterator[EvalDocument]:
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "questions.jsonl"):
        yield EvalDocument(path.relative_to(folder).as_posix(), path.stem, "", path=path)


def _with_language(
    documents: tuple[EvalDocument, ...], questions: tuple[EvalQuestion, ...]
) -> tuple[EvalDocument, ...]:
    """A corpus that names no languages has that of its questions when they share one."""
    languages = {question.language for question in questions}
    if len(languages) != 1 or any(document.language for document in documents):
        return documents
    (only,) = languages
    return tuple(EvalDocument(d.id, d.title, d.text, only, d.withheld, d.path) for d in documents)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)
