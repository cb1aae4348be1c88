"""`folio web`: the web server alone; `folio serve` starts it beside the worker and the engine."""

import threading
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from flask import Flask

    from folio.settings import Settings


@click.command("web")
def web() -> None:
    """Run the web server alone."""
    from folio.catalog import Catalog
    from folio.cli.context import settings
    from web.access import check_exposure
    from web.server import serve

    loaded = settings()
    catalog = Catalog(loaded.catalog_url)
    catalog.migrate()
    check_exposure(loaded, catalog)
    catalog.dispose()  # nothing open crosses into the serving process
    serve(lambda: _build(loaded), loaded)


def _build(settings: "Settings") -> "Flask":
    """The application, up at once; the embedder and the indexes load behind it."""
    from folio.services import build_services
    from retrieval.collections import DEFAULT_COLLECTION
    from web.app import create_app

    services = build_services(settings)
    services.collections.get_or_create(DEFAULT_COLLECTION)  # before the first request, which may name it
    threading.Thread(target=services.searcher.warm, name="warm-searcher", daemon=True).start()
    return create_app(services)
