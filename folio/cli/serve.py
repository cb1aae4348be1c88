"""`folio serve`: the whole service on one machine: web server, ingest worker and engine, started and watched."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from folio.errors import ConfigurationError

if TYPE_CHECKING:
    from folio.settings import Settings
    from folio.supervision import Child
    from generation.vllm_keeper import EngineKeeper

POLL_S = 0.25
FOLLOWER_STOP_S = 15.0


@click.command("serve")
@click.option("--host", help="Address to listen on (FOLIO_HOST).")
@click.option("--port", type=int, help="Port to listen on (FOLIO_PORT).")
@click.option(
    "--ingest", "paths", multiple=True, type=click.Path(exists=True), help="Add these files or folders first."
)
@click.option("--collection", default="default", show_default=True, help="The collection that --ingest adds to.")
def serve(host: str | None, port: int | None, paths: tuple[str, ...], collection: str) -> None:
    """Start the web server, the ingest worker and the engine, and keep them running until stopped."""
    from folio.catalog import Catalog
    from folio.log import configure_logging
    from folio.settings import load_settings
    from web.access import check_exposure

    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = load_settings(**given)
    configure_logging(settings)
    _check_packages()
    _check_port(settings)
    catalog = Catalog(settings.catalog_url)
    catalog.migrate()
    check_exposure(settings, catalog)
    catalog.dispose()
    children, keeper = _children(settings)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        for child in children:
            child.start()
        address = f"http://{settings.host}:{settings.port}"
        click.echo(f"Folio is starting; the page is at {address}", err=True)
        follower = threading.Thread(target=_follow, args=(settings, paths, collection, address, stop), daemon=True)
        follower.start()
        if keeper is not None:
            threading.Thread(target=keeper.watch, args=(stop,), daemon=True).start()
        while not stop.wait(POLL_S):
            for child in children:
                child.tend()
        follower.join(FOLLOWER_STOP_S)
    finally:
        click.echo("Stopping.", err=True)
        for child in children:
            child.stop()


def _check_packages() -> None:
    """Another distribution may install a package with one of our plain names; say so before it confuses anybody."""
    root = Path(__file__).resolve().parents[2]
    for name in ("web", "ingest", "retrieval", "generation"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None or Path(spec.origin).resolve().parents[1] != root:
            raise ConfigurationError(
                f"The package {name!r} that Python finds is not Folio's ({spec.origin if spec else 'none'}). "
                "Uninstall the other one, or run Folio in an environment of its own."
            )


def _check_port(settings: "Settings") -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as exc:
            raise ConfigurationError(
                f"{settings.host}:{settings.port} can't be listened on ({exc.strerror}). "
                "Stop what uses it, or set FOLIO_PORT to a free port."
            ) from exc


def _children(settings: "Settings") -> tuple[list["Child"], "EngineKeeper | None"]:
    """The processes to watch, in the order in which they are stopped, and who keeps the engine that Folio starts."""
    from folio.supervision import Child
    from generation.vllm_keeper import EngineKeeper
    from generation.vllm_server import announce_engine, server_command

    environment = {
        **os.environ,
        "FOLIO_HOST": settings.host,
        "FOLIO_PORT": str(settings.port),
        "FOLIO_DATA_DIR": str(settings.data_dir),
    }
    keeper: EngineKeeper | None = None
    if settings.engine_urls:
        announce_engine(settings, ",".join(settings.engine_urls))
    else:
        command = server_command(settings)
        keeper = EngineKeeper(settings, command)
        environment["FOLIO_ENGINE_URL"] = command.url
        announce_engine(settings, command.url)
    folio = [sys.executable, "-m", "folio"]
    web = Child("web", [*folio, "web"], environment, stop_timeout_s=settings.web_graceful_s + 5.0)
    worker = Child("worker", [*folio, "worker"], environment, stop_timeout_s=30.0)
    return [web, worker, *([keeper.child] if keeper else [])], keeper


def _run_until_stopped(command: list[str], environment: dict[str, str], stop: threading.Event) -> int:
    """The exit status of a command, which is ended when Folio stops before it."""
    with subprocess.Popen(command, env=environment) as process:
        while process.poll() is None:
            if stop.wait(POLL_S):
                process.terminate()
                break
    return process.returncode


def _follow(settings: "Settings", paths: tuple[str, ...], collection: str, address: str, stop: threading.Event) -> None:
    """Add what `--ingest` names, then say when Folio can answer."""
    import httpx

    if paths:
        command = [sys.executable, "-m", "folio", "ingest", *paths, "--collection", collection]
        environment = {**os.environ, "FOLIO_DATA_DIR": str(settings.data_dir)}
        if _run_until_stopped(command, environment, stop) != 0 and not stop.is_set():
            click.echo("Not every file could be added; `folio jobs` says which and why.", err=True)
    while not stop.wait(POLL_S):
        try:
            if httpx.get(f"{address}/readyz", timeout=5).status_code == httpx.codes.OK:
                click.echo(f"Ready: {address}", err=True)
                return
        except httpx.HTTPError:
            continue
