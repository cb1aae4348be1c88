"""`folio reindex`: rebuild the indexes from the catalog; nothing is embedded again."""

import click


@click.command("reindex")
@click.option("--collection", help="Only this collection; all of them otherwise.")
def reindex(collection: str | None) -> None:
    """Write a new generation of the index from the stored vectors and switch to it."""
    from folio.cli.context import services

    parts = services()
    chosen = [parts.collections.get(collection)] if collection else parts.collections.list()
    for info in chosen:
        generation = parts.generations.rebuild(info.id)
        click.echo(f"{info.name}: {generation.chunks} chunks, generation {generation.id}")
