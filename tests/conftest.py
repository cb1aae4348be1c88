"""Fixtures that every test may use: a temporary Folio, the real embedder, and one real engine for the whole run."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from folio.catalog import Catalog
from folio.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a Folio whose state lives in a temporary folder; models come from the machine's cache."""
    return load_settings(data_dir=tmp_path / "data")


@pytest.fixture
def catalog(settings: Settings) -> Iterator[Catalog]:
    """An empty catalog, migrated."""
    opened = Catalog(settings.catalog_url)
    opened.migrate()
    yield opened
    opened.dispose()


@pytest.fixture(scope="session")
def embedder():
    """The real starter embedder."""
    from folio.services import build_embedder

    real = build_embedder(load_settings())
    real.load()
    return real


@pytest.fixture(scope="session")
def engine_url() -> Iterator[str]:
    """A real vLLM server with the starter model, started once for the run (or FOLIO_TEST_ENGINE_URL, if set)."""
    running = os.environ.get("FOLIO_TEST_ENGINE_URL")
    if running:
        yield running
        return
    from generation.vllm_server import server_command, stop_group, wait_until_ready

    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder))
        command = server_command(settings)
        log = Path(folder) / "engine.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command.arguments, env=command.environment, stdout=output, stderr=output, start_new_session=True
            )
            try:
                wait_until_ready(command.url, process.poll, settings.engine_start_timeout_s, log)
                yield command.url
            finally:
                stop_group(process)
