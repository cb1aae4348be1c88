"""`folio settings`: every setting, its value and where that came from."""

import os
import tomllib
from pathlib import Path

import click
from pydantic import SecretStr

from folio.settings import Settings


@click.command("settings")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--markdown", is_flag=True, help="Print the table of docs/settings.md: defaults, not values.")
def settings(as_json: bool, markdown: bool) -> None:
    """Print every setting, its value and its source; secrets are masked."""
    if markdown:
        click.echo(settings_table())
        return
    from folio.cli.context import echo_json
    from folio.cli.context import settings as load

    loaded = load()
    toml_file = Path("folio.toml")
    in_file = tomllib.loads(toml_file.read_text(encoding="utf-8")) if toml_file.is_file() else {}
    rows = []
    for name, field in Settings.model_fields.items():
        source = "environment" if variable(name) in os.environ else "folio.toml" if name in in_file else "default"
        value = _shown(name, getattr(loaded, name))
        rows.append({"variable": variable(name), "value": value, "source": source, "meaning": field.description})
    if as_json:
        echo_json(rows)
        return
    for row in rows:
        click.echo(f"{row['variable']} = {row['value']}   ({row['source']})\n    {row['meaning']}")


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return "FOLIO_CACHE" if name == "cache_dir" else f"FOLIO_{name.upper()}"


def settings_table() -> str:
    """Every setting with its default and its meaning, as a Markdown table."""
    lines = ["| variable | default | meaning |", "| --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        default = _shown(name, field.default).replace(str(Path.home()), "~")
        lines.append(f"| `{variable(name)}` | {f'`{default}`' if default else 'empty'} | {field.description} |")
    return "\n".join(lines)


def _shown(name: str, value: object) -> str:
    if isinstance(value, SecretStr):
        return "(set)" if value.get_secret_value() else ""
    if name == "database_url" and value:
        from sqlalchemy.engine import make_url

        return make_url(str(value)).render_as_string(hide_password=True)
    return str(value)
