"""The dashboard shows figures that exist, and every figure of answers and engine is on it."""

import json
import re
from pathlib import Path

from prometheus_client import REGISTRY

from folio import metrics

DASHBOARD = json.loads((Path(__file__).resolve().parents[2] / "docs" / "grafana-dashboard.json").read_text("utf-8"))
SHOWN = {
    name
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
    for name in re.findall(r"\bfolio_\w+", target["expr"])
}


def exported(prefix: str = "folio_") -> dict[str, set[str]]:
    """Families that `/metrics` exports, with the names of their samples."""
    assert metrics.ANSWERS
    suffixes = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
    families = [family for family in REGISTRY.collect() if family.name.startswith(prefix)]
    return {f.name: {f.name + suffix for suffix in suffixes[f.type]} for f in families}


def test_every_figure_on_the_dashboard_is_exported() -> None:
    assert SHOWN
    assert not SHOWN - set().union(*exported().values())


def test_every_figure_of_answers_and_engine_is_on_the_dashboard() -> None:
    families = {**exported("folio_answer"), **exported("folio_engine")}
    missing = {family for family, samples in families.items() if not samples & SHOWN}
    assert not missing
