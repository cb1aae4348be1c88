"""`folio reindex`: rebuild the indexes from the catalog, or embed everything with another model and switch to it."""

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from folio.services import Services


@click.command("reindex")
@click.option("--collection", help="Only this collection; all of them otherwise.")
@click.option("--embed", "model", help="Embed all chunks with this model first: a hub name or a folder.")
def reindex(collection: str | None, model: str | None) -> None:
    """Write a new generation of the index from the stored vectors and switch to it.

    With --embed, all chunks are embedded with another model while the old vectors go on serving; then the collection
    is switched to it at once. A run that was interrupted goes on where it stopped when it is started again.
    """
    from folio.cli.context import services

    parts = services()
    chosen = [parts.collections.get(collection)] if collection else parts.collections.list()
    if model:
        for info in chosen:
            _embed(parts, info.id, model)
    for info in chosen:
        generation = parts.generations.rebuild(info.id)
        click.echo(f"{info.name}: {generation.chunks} chunks, generation {generation.id}")
    if model:
        click.echo(f"Now set FOLIO_EMBEDDING_MODEL={model} and restart `folio serve`; searches need it from now on.")


def _embed(parts: "Services", collection_id: str, model: str) -> None:
    from tqdm import tqdm

    from folio.services import build_embedder
    from ingest.reembedding import Reembedding

    settings = parts.settings.model_copy(update={"embedding_model": model})
    with tqdm(unit="chunk", file=sys.stderr, mininterval=0.5) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        result = Reembedding(parts.catalog, settings, build_embedder(settings), show).run(collection_id)
    recut = f", {result.recut} documents cut anew" if result.recut else ""
    click.echo(f"{result.collection}: {result.chunks} chunks embedded with {result.model}{recut}")
