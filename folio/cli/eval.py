"""`folio eval`: measure retrieval and answers. An evaluation never touches the user's collections."""

import importlib

import click

SUBCOMMANDS = {
    "answers": "Measure answers: exact match, F1, refusal, citations, time to first token.",
    "retrieval": "Measure retrieval: nDCG, recall, MRR, latency.",
}


class EvalCommands(click.Group):
    """Imports `folio.cli.eval_<name>` only when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"folio.cli.eval_{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(SUBCOMMANDS.items()))


@click.group("eval", cls=EvalCommands)
def eval() -> None:
    """Measure retrieval and answers on a set of questions."""
