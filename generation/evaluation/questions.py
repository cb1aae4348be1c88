"""Sets of questions on disk: `shared/evaldata` layout, or a folder of documents with `questions.jsonl` beside them."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from folio.errors import InvalidRequest

SAMPLE_SEED = 20_260
DOCUMENT_SUFFIXES = frozenset(
    ".md .html .htm .pdf .docx .txt .csv .xlsx .pptx .epub .rst .json .xml .eml".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Question:
    """A question with its expected answers. `documents` names those that hold the answer, by id or relative path."""

    id: str
    text: str
    language: str
    answers: tuple[str, ...]
    documents: tuple[str, ...]
    answerable: bool


@dataclass(frozen=True)
class SetDocument:
    """A document of the set: text, or a file."""

    id: str
    title: str
    text: str = ""
    path: Path | None = None


@dataclass(frozen=True)
class QuestionSet:
    """Documents and the questions about them."""

    name: str
    documents: tuple[SetDocument, ...]
    questions: tuple[Question, ...]

    def sample(self, limit: int | None) -> "QuestionSet":
        """At most `limit` of the questions, the same ones each time."""
        if limit is None or limit >= len(self.questions):
            return self
        chosen = random.Random(SAMPLE_SEED).sample(self.questions, limit)
        return QuestionSet(self.name, self.documents, tuple(chosen))


def load_questions(folder: Path, *, split: str = "dev", language: str = "", withhold: bool = False) -> QuestionSet:
    """Read a set.

    Args:
        language: keep the questions of this language only.
        withhold: leave out documents marked `withheld`; questions about them must then be refused.

    Raises:
        InvalidRequest: the folder is in neither layout.
    """
    shared = folder / split / f"questions-{split}.jsonl"
    plain = folder / "questions.jsonl"
    if not shared.is_file() and not plain.is_file():
        raise InvalidRequest(f"{folder} has neither {shared.relative_to(folder)} nor questions.jsonl.")
    questions = tuple(
        _question(row, withhold)
        for row in _rows(shared if shared.is_file() else plain)
        if not language or row.get("lang", language) == language
    )
    documents = tuple(_corpus(folder, withhold) if shared.is_file() else _files(folder))
    return QuestionSet(folder.name, documents, questions)


def _question(row: dict[str, Any], withhold: bool) -> Question:
    documents = row.get("doc_ids") or ([row["document"]] if row.get("document") else [])
    withheld = withhold and bool(row.get("withheld_article"))
    return Question(
        id=str(row["id"]),
        text=row["question"],
        language=row.get("lang", ""),
        answers=tuple(row.get("answers", ())),
        documents=tuple(documents),
        answerable=bool(row.get("answerable", True)) and not withheld,
    )


def _corpus(folder: Path, withhold: bool) -> Iterator[SetDocument]:
    for file in sorted((folder / "common").glob("corpus*.jsonl")):
        for row in _rows(file):
            if not (withhold and row.get("withheld")):
                yield SetDocument(str(row["id"]), row.get("title", ""), text=row["text"])


def _files(folder: Path) -> Iterator[SetDocument]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in DOCUMENT_SUFFIXES and path.name != "README.md":
            yield SetDocument(path.relative_to(folder).as_posix(), path.stem, path=path)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
