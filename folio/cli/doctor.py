"""`folio doctor`: compare catalog, indexes and files."""

import click

from folio.errors import IntegrityError


@click.command("doctor")
@click.option("--sweep", is_flag=True, help="First remove stored files that nothing needs any more.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def doctor(sweep: bool, as_json: bool) -> None:
    """Report every difference between catalog, indexes and files; exit status 0 only when there is none."""
    from folio.cli.context import echo_json, services
    from ingest.leftovers import sweep as remove_leftovers
    from ingest.reconciliation import differences
    from ingest.storage import FileStorage

    parts = services()
    if sweep:
        removed = remove_leftovers(parts.catalog, FileStorage(parts.settings.files_dir))
        click.echo(f"{removed} stored files removed.", err=True)
    found = differences(parts.catalog, parts.generations, parts.settings)
    if as_json:
        echo_json({"differences": found})
    for line in [] if as_json else found:
        click.echo(line)
    if found:
        raise IntegrityError(f"{len(found)} differences. `folio reindex` rebuilds indexes from the catalog.")
    if not as_json:
        click.echo("Catalog, indexes and files agree.")
