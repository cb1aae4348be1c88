"""`folio keys`: make, list and revoke API keys."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from folio.catalog import Catalog


@click.group("keys")
def keys() -> None:
    """Create, list and revoke API keys.

    While Folio listens on this machine only and no key exists, nobody needs one. The first key ends that.
    """


@keys.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["ask", "ingest", "admin"]),
    default=("ask",),
    show_default=True,
    help="What it may do; repeat for several. `admin` includes the others.",
)
@click.option("--collection", "collections", multiple=True, help="Limit it to this collection; repeat for several.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def create(name: str, scopes: tuple[str, ...], collections: tuple[str, ...], as_json: bool) -> None:
    """Make a key for NAME and print it, this once."""
    from folio.cli.context import echo_json
    from folio.keys import KeyStore

    made = KeyStore(_catalog()).create(name, scopes, collections)
    if as_json:
        echo_json(made)
        return
    click.echo(made.key)
    click.echo("Keep it safe: it can't be shown again. Send it as `Authorization: Bearer <key>`.", err=True)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_keys(as_json: bool) -> None:
    """List keys, newest first, revoked ones included."""
    from folio.cli.context import echo_json
    from folio.keys import KeyStore

    found = KeyStore(_catalog()).list()
    if as_json:
        echo_json([key.model_dump(mode="json") for key in found])
        return
    for key in found:
        state = "revoked" if key.revoked_at else "active"
        used = f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never used"
        limits = ", ".join(key.collections) or "all collections"
        click.echo(f"{key.id}  {state:<8}  {used:<16}  {','.join(key.scopes):<16}  {limits}  {key.name}")
    if not found:
        click.echo("There are no keys.", err=True)


@keys.command("revoke")
@click.argument("key_id")
def revoke(key_id: str) -> None:
    """Make the key KEY_ID useless from the next request on."""
    from folio.keys import KeyStore

    revoked = KeyStore(_catalog()).revoke(key_id)
    click.echo(f"Revoked {revoked.name!r}.", err=True)


def _catalog() -> "Catalog":
    """The catalog alone: keys need no model."""
    from folio.catalog import Catalog
    from folio.cli.context import settings

    catalog = Catalog(settings().catalog_url)
    catalog.migrate()
    return catalog
