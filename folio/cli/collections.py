"""`folio collections`: list, create and delete collections."""

from dataclasses import asdict

import click

from folio.cli.context import echo_json, services


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def collections(ctx: click.Context, as_json: bool) -> None:
    """List collections, or create and delete them."""
    if ctx.invoked_subcommand is None:
        _list(as_json)


@collections.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_collections(as_json: bool) -> None:
    """List all collections with their counts."""
    _list(as_json)


@collections.command()
@click.argument("name")
@click.option("--description", default="", help="What it holds.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def create(name: str, description: str, as_json: bool) -> None:
    """Create an empty collection bound to the configured embedding model."""
    info = services().collections.create(name, description)
    if as_json:
        echo_json(asdict(info))
    else:
        click.echo(f"Created {info.name} ({info.embedding_model}, {info.dimension} dimensions).")


@collections.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def delete(name: str, yes: bool, as_json: bool) -> None:
    """Delete a collection with all its documents and answers."""
    parts = services()
    info = parts.collections.get(name)
    if not yes:
        click.confirm(f"Delete {name} with its {info.documents} documents?", abort=True, err=True)
    deleted = parts.collections.delete(name)
    parts.generations.sweep()
    if as_json:
        echo_json(asdict(deleted))
    else:
        click.echo(f"Deleted {deleted.name}: {deleted.documents} documents, {deleted.chunks} chunks.")


def _list(as_json: bool) -> None:
    infos = services().collections.list()
    if as_json:
        echo_json([asdict(info) for info in infos])
        return
    for info in infos:
        counts = f"{info.documents} documents  {info.chunks} chunks  {', '.join(info.languages) or '-'}"
        click.echo(f"{info.name}  {counts}  {info.embedding_model}")
    if not infos:
        click.echo("There are no collections yet. `folio ingest PATH` makes the first.")
