"""`folio backup`: the catalog and the original files, in one archive."""

from pathlib import Path

import click


@click.command("backup")
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
def backup(target: Path) -> None:
    """Write the catalog and the original files to the archive TARGET (.tar.gz); Folio may go on running."""
    from folio import archive
    from folio.cli.context import settings

    size = archive.backup(settings(), target)
    click.echo(f"{target}: {size / 2**20:.1f} MiB")
