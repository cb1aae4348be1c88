"""The command line. Each command lives in a file of its own and is imported only when it runs."""

import importlib
import os
import sys

import click

from folio import __version__
from folio.actor import acting_as, system_user
from folio.errors import (
    AccessDenied,
    ConfigurationError,
    FolioError,
    IngestError,
    IntegrityError,
    InvalidRequest,
    NotFound,
    TooManyRequests,
    Unavailable,
)

COMMANDS = {
    "ask": "Ask a question and print the cited answer.",
    "backup": "Write the catalog and the original files to one archive.",
    "collections": "List, create and delete collections.",
    "doctor": "Compare catalog, indexes and files, and report every difference.",
    "documents": "List, show and delete documents.",
    "eval": "Measure retrieval and answers on a set of questions.",
    "ingest": "Add files, folders or URLs to a collection.",
    "jobs": "Show, cancel and retry ingestion jobs.",
    "keys": "Create, list and revoke API keys.",
    "mcp": "Serve search and ask to MCP clients.",
    "models": "Prepare models and show where they are.",
    "reindex": "Rebuild an index, or embed again with another model.",
    "replay": "Make an answer again and show what differs.",
    "restore": "Bring back what `folio backup` wrote.",
    "search": "Search passages without asking the language model.",
    "serve": "Start the web server, the ingest worker and the engine.",
    "settings": "Print every setting, its value and its source.",
    "web": "Run the web server alone.",
    "worker": "Run the ingest worker alone.",
}

# One exit status a branch of the tree; 2 is click's own for wrong usage.
EXIT_STATUS: dict[type[FolioError], int] = {
    InvalidRequest: 3,
    NotFound: 4,
    AccessDenied: 5,
    TooManyRequests: 6,
    Unavailable: 6,
    ConfigurationError: 7,
    IngestError: 8,
    IntegrityError: 9,
    FolioError: 1,
}


class Commands(click.Group):
    """Finds a command's module by its name; the help needs no import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"folio.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="folio")
@click.pass_context
def folio(context: click.Context) -> None:
    """Folio answers questions over your documents; every sentence can be checked against its page."""
    context.with_resource(acting_as(f"cli:{system_user()}"))


def exit_status(error: FolioError) -> int:
    """The process exit status of an error: that of its nearest ancestor with one."""
    return next(EXIT_STATUS[kind] for kind in type(error).__mro__ if kind in EXIT_STATUS)


def main() -> None:
    """Entry point: runs the command; an expected error is one clear line on stderr, never a stack trace."""
    # The processes that it starts import the installed Folio, not a folder of that name where the user stands.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    try:
        folio.main(standalone_mode=False)
    except click.ClickException as exc:
        exc.show()
        sys.exit(exc.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except FolioError as exc:
        click.echo(f"folio: {exc.title}: {exc.message}", err=True)
        sys.exit(exit_status(exc))
