"""`folio restore`: bring back what `folio backup` wrote."""

from pathlib import Path

import click


@click.command("restore")
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def restore(source: Path) -> None:
    """Unpack the archive SOURCE into an empty data folder; indexes are rebuilt at the first start."""
    from folio import archive
    from folio.cli.context import settings

    archive.restore(settings(), source)
    click.echo(f"Restored into {settings().data_dir}. `folio serve` rebuilds the indexes from it.")
