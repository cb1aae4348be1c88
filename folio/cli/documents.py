"""`folio documents`: list, show and delete documents."""

import click


@click.group("documents", invoke_without_command=True)
@click.option("--collection", default="default", show_default=True)
@click.option("--query", default="", help="Words in the title or address.")
@click.option("--limit", default=100, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.pass_context
def documents(context: click.Context, collection: str, query: str, limit: int, as_json: bool) -> None:
    """List documents; subcommands show and delete one."""
    if context.invoked_subcommand:
        return
    from folio.addresses import on_a_line
    from folio.cli.context import echo_json, services

    page = services().documents.list(collection, query=query, limit=limit)
    if as_json:
        echo_json(page)
        return
    for item in page.items:
        click.echo(f"{item.id}  v{item.version}  {item.chunks:>5} chunks  {item.title}  {on_a_line(item.catalog_uri)}")
    click.echo(f"{len(page.items)} of {page.total}")


@documents.command()
@click.argument("document_id")
@click.option("--text", is_flag=True, help="Print the extracted text instead.")
def show(document_id: str, text: bool) -> None:
    """Show a document, or its text."""
    from folio.cli.context import echo_json, services

    if text:
        click.echo(services().documents.text(document_id).text)
    else:
        echo_json(services().documents.get(document_id))


@documents.command()
@click.argument("document_id")
def delete(document_id: str) -> None:
    """Delete a document and print the receipt."""
    from folio.cli.context import echo_json, services

    echo_json(services().documents.delete(document_id))
