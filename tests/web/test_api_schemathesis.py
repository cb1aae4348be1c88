"""The running service against its own OpenAPI description: no 5xx, nothing undocumented, every check on."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from folio.keys import KeyStore

ROOT = Path(__file__).parents[2]
SIGN_IN = "^/api/v1/session$"  # would sign the run in and out, and is limited by address


@pytest.mark.engine
def test_the_service_keeps_to_its_own_description(services, work, engine_url, unused_port, tmp_path):
    settings = services.settings
    work(services.ingestion.submit_text("default", "Caches", "PagedAttention reduces fragmentation.").id)
    key = KeyStore(services.catalog).create("schemathesis", ["admin"]).key
    environment = {
        **os.environ,
        "FOLIO_PORT": str(unused_port),
        "FOLIO_DATA_DIR": str(settings.data_dir),
        "FOLIO_ENGINE_URL": engine_url,
        "FOLIO_ANSWER_TOKENS": "16",
        "FOLIO_RATE_LIMIT": "",
        "FOLIO_ASK_RATE_LIMIT": "",
        "FOLIO_LOG_FORMAT": "json",
    }
    log = tmp_path / "web.log"
    with log.open("wb") as output:
        web = subprocess.Popen([sys.executable, "-m", "folio", "web"], cwd=ROOT, env=environment, stderr=output)
    try:
        address = f"http://127.0.0.1:{unused_port}"
        wait_until_ready(address)
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(ROOT / "tests/web/schemathesis.toml")),
            *("run", f"{address}/openapi.json", "-H", f"Authorization: Bearer {key}"),
            *("--exclude-path-regex", SIGN_IN, "--generation-deterministic", "--no-color"),
        ]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=800, check=False)
        assert run.returncode == 0, run.stdout[-20000:]
        assert '"status": 500' not in log.read_text()
    finally:
        web.terminate()
        web.wait(70)


def wait_until_ready(address: str) -> None:
    """Return as soon as questions can be answered."""
    for _ in range(600):
        try:
            if httpx.get(f"{address}/readyz").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError("the service did not get ready")
