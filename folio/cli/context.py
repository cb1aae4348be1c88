"""What commands share: the services, built once, and JSON output."""

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from pydantic import BaseModel

from folio.log import configure_logging
from folio.services import Services, build_services
from folio.settings import Settings, load_settings


@functools.cache
def settings() -> Settings:
    """The settings in force, with logging configured by them."""
    loaded = load_settings()
    configure_logging(loaded)
    return loaded


@functools.cache
def services() -> Services:
    """All parts, ready; models are loaded at their first use."""
    return build_services(settings())


@contextmanager
def services_with_engine() -> Iterator[Services]:
    """Services whose engine answers.

    Uses FOLIO_ENGINE_URL, or the engine of a running `folio serve`, or starts one for as long as the block runs.

    Raises:
        EngineNotReady: the engine did not become ready in time.
    """
    from generation.vllm_server import borrowed_engine

    with borrowed_engine(settings(), announce=lambda text: click.echo(text, err=True)) as url:
        yield build_services(settings().model_copy(update={"engine_url": url}))


def as_kept(view: BaseModel) -> dict[str, Any]:
    """A view as plain JSON values, with uris as the catalog has them: who runs a command here sees the disk anyway."""
    plain = view.model_dump(mode="json")
    for name in ("uri", "source"):
        plain |= {name: kept} if (kept := getattr(view, f"catalog_{name}", "")) else {}
    items = getattr(view, "items", None)
    if items is not None:
        plain["items"] = [as_kept(item) for item in items]
    return plain


def echo_json(value: object) -> None:
    """Print a value as JSON, with Chinese as it is."""
    plain = as_kept(value) if isinstance(value, BaseModel) else value
    click.echo(json.dumps(plain, ensure_ascii=False, indent=2, default=str))
