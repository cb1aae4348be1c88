"""`folio replay`: make an answer again from its receipt and show what differs."""

import click

from folio.cli.context import echo_json, services_with_engine


@click.command()
@click.argument("answer_id")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def replay(answer_id: str, as_json: bool) -> None:
    """Send the stored prompt of ANSWER_ID to the engine again. The exit status is 0 whether or not the text differs."""
    from generation.replay import Replayer

    with services_with_engine() as parts:
        try:
            result = Replayer(parts.catalog, parts.engine).replay(answer_id)
        finally:
            parts.close()
    if as_json:
        echo_json(result)
        return
    click.echo(f"Model then: {result.model_then}; now: {result.model_now}")
    if result.changed_passages:
        numbers = ", ".join(map(str, result.changed_passages))
        click.echo(f"Passages whose document has changed or gone since: {numbers}")
    click.echo("The same text." if result.same else "\n".join(result.difference))
