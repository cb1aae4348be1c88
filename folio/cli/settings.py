"""`folio settings`: every setting, its value and where that came from."""

import os
import tomllib
from pathlib import Path

import click
from pydantic import SecretStr


@click.command("settings")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def settings(as_json: bool) -> None:
    """Print every setting, its value and its source; secrets are masked."""
    from folio.cli.context import echo_json
    from folio.cli.context import settings as load
    from folio.settings import Settings

    loaded = load()
    toml_file = Path("folio.toml")
    in_file = tomllib.loads(toml_file.read_text(encoding="utf-8")) if toml_file.is_file() else {}
    rows = []
    for name, field in Settings.model_fields.items():
        variable = "FOLIO_CACHE" if name == "cache_dir" else f"FOLIO_{name.upper()}"
        source = "environment" if variable in os.environ else "folio.toml" if name in in_file else "default"
        value = getattr(loaded, name)
        if isinstance(value, SecretStr):
            value = "(set)" if value.get_secret_value() else ""
        elif name == "database_url" and value:
            from sqlalchemy.engine import make_url

            value = make_url(value).render_as_string(hide_password=True)
        rows.append({"variable": variable, "value": str(value), "source": source, "meaning": field.description})
    if as_json:
        echo_json(rows)
        return
    for row in rows:
        click.echo(f"{row['variable']} = {row['value']}   ({row['source']})\n    {row['meaning']}")
