"""`folio eval answers`: ask every question of a set, in a temporary Folio, and print the figures."""

import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from folio.cli.context import echo_json, settings

if TYPE_CHECKING:
    from folio.services import Services
    from generation.evaluation.answers import AnswerScore
    from generation.evaluation.questions import QuestionSet, SetDocument
    from ingest.views import IncomingFile

COLLECTION = "evaluation"
MAX_FILE_BYTES = 2**30


@click.command("answers")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--split", default="dev", show_default=True, help="Which questions, in the layout with splits.")
@click.option("--limit", type=click.IntRange(1), help="Ask only so many, chosen by a fixed seed.")
@click.option("--withhold", is_flag=True, help="Leave out documents marked withheld; their questions must be refused.")
@click.option("--lang", "language", default="", help="Only questions in this language.")
@click.option("--top-k", "-k", type=click.IntRange(1, 50), help="Passages given to the model; the setting by default.")
@click.option("--concurrency", type=click.IntRange(1, 64), default=4, show_default=True, help="Questions at a time.")
@click.option("--details", type=click.Path(dir_okay=False, path_type=Path), help="Write each question's outcome here.")
@click.option("--compare", type=click.Path(exists=True, path_type=Path), help="Details of an earlier run, to compare.")
@click.option("--curve", is_flag=True, help="Add answered rightly against answered wrongly at each refusal threshold.")
@click.option(
    "--from", "earlier", type=click.Path(exists=True, path_type=Path), help="Figure these details again, ask nothing."
)
@click.option(
    "--threshold", type=click.FloatRange(0, 1), help="With --from: decide the refusals again at this threshold."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def answers(
    folder: Path,
    split: str,
    limit: int | None,
    withhold: bool,
    language: str,
    top_k: int | None,
    concurrency: int,
    details: Path | None,
    compare: Path | None,
    curve: bool,
    earlier: Path | None,
    threshold: float | None,
    as_json: bool,
) -> None:
    """Measure answers on the questions of FOLDER. Your own collections are never touched."""
    from generation.evaluation.answers import changed, figures
    from generation.evaluation.curve import curve as operating_curve
    from generation.evaluation.curve import decided_again
    from generation.evaluation.questions import load_questions

    if threshold is not None and earlier is None:
        raise click.UsageError("--threshold decides details again; name them with --from.")
    if earlier is not None:
        scores = _read_details(earlier)
    else:
        chosen = load_questions(folder, split=split, language=language, withhold=withhold).sample(limit)
        scores = _ask(chosen, top_k, concurrency, details)
    if threshold is not None:
        scores = decided_again(scores, threshold)
    result = {"set": folder.name, "withheld": withhold, "language": language or None, **figures(scores)}
    if curve:
        result["curve"] = [point.model_dump() for point in operating_curve(scores)]
    if compare is not None:
        result["changed"] = changed(_read_details(compare), scores)
    if as_json:
        echo_json(result)
        return
    for name, value in result.items():
        for line in value if name == "curve" else [value]:
            click.echo(f"{name:30} {json.dumps(line, ensure_ascii=False)}")


def _ask(chosen: "QuestionSet", top_k: int | None, concurrency: int, details: Path | None) -> "list[AnswerScore]":
    """Every question's outcome; each is written to `details` at once, so that a run broken off leaves what it had."""
    from tqdm import tqdm

    from generation.evaluation.answers import measure

    if details is not None:
        details.write_text("", encoding="utf-8")
    writing = threading.Lock()

    with _temporary_services() as parts:
        _ingest(parts, chosen)
        with tqdm(total=len(chosen.questions), desc="Asking", unit=" questions") as bar:

            def done(score: "AnswerScore") -> None:
                with writing:
                    bar.update()
                    if details is not None:
                        with details.open("a", encoding="utf-8") as file:
                            file.write(score.model_dump_json() + "\n")

            return measure(
                parts.answerer,
                chosen.questions,
                collection=COLLECTION,
                top_k=top_k,
                concurrency=concurrency,
                receipts=parts.receipts,
                done=done,
            )


@contextmanager
def _temporary_services() -> "Iterator[Services]":
    """A Folio of its own in a temporary folder, over the engine in use."""
    from folio.services import build_services
    from generation.vllm_server import borrowed_engine

    with (
        tempfile.TemporaryDirectory(prefix="folio-eval-") as folder,
        borrowed_engine(settings(), announce=lambda text: click.echo(text, err=True)) as url,
    ):
        changes = {"engine_url": url, "data_dir": Path(folder), "database_url": "", "max_answers_per_key": 0}
        parts = build_services(settings().model_copy(update=changes))
        try:
            yield parts
        finally:
            parts.close()


def _ingest(parts: "Services", chosen: "QuestionSet") -> None:
    from folio.errors import IntegrityError
    from ingest.worker import Worker

    click.echo(f"Ingesting {len(chosen.documents)} documents", err=True)
    files = [_incoming(parts, document) for document in chosen.documents]
    job = parts.ingestion.submit(COLLECTION, files, source=chosen.name)
    worker = Worker(parts.catalog, parts.embedder, parts.generations, parts.settings)
    done = ("done", "failed", "cancelled")
    worker.run(threading.Event(), finished=lambda: parts.ingestion.job(job.id).state in done)
    counts = parts.ingestion.job(job.id).files
    if counts.done + counts.unchanged < counts.total:
        raise IntegrityError(f"{counts.total - counts.done - counts.unchanged} documents of the set were not ingested.")


def _incoming(parts: "Services", document: "SetDocument") -> "IncomingFile":
    """The document's bytes stored, under the id that the set's questions name."""
    import mimetypes

    from ingest.views import IncomingFile

    name = document.path.name if document.path else "text.txt"
    content = document.path.read_bytes() if document.path else document.text.encode()
    stored = parts.ingestion.store_upload(BytesIO(content), filename=name, max_bytes=MAX_FILE_BYTES)
    media_type = mimetypes.guess_type(name)[0] or "text/plain"
    return IncomingFile(document.id, document.title, media_type, stored.sha256, stored.size_bytes)


def _read_details(path: Path) -> "list[AnswerScore]":
    from generation.evaluation.answers import AnswerScore

    return [AnswerScore.model_validate_json(row) for row in path.read_text(encoding="utf-8").splitlines()]
