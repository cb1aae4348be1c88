"""Settings: one typed object, read once, documented."""

from pathlib import Path

import pytest

from folio.cli.settings import settings_table
from folio.errors import ConfigurationError
from folio.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[2]


def test_environment_beats_the_file_and_the_file_beats_the_default(tmp_path, monkeypatch):
    (tmp_path / "folio.toml").write_text("port = 9001\ntop_k = 7\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOLIO_PORT", "9002")
    settings = load_settings()
    assert (settings.port, settings.top_k) == (9002, 7)
    assert settings.answer_tokens == Settings.model_fields["answer_tokens"].default


def test_cache_has_its_short_name(monkeypatch, tmp_path):
    monkeypatch.setenv("FOLIO_CACHE", str(tmp_path))
    assert load_settings().models_dir == tmp_path / "models"


def test_a_bad_value_is_named(monkeypatch):
    monkeypatch.setenv("FOLIO_PORT", "99999")
    with pytest.raises(ConfigurationError, match=r"(?i)port"):
        load_settings()


def test_engine_urls_are_split_and_trimmed():
    assert load_settings(engine_url=" http://a:1/ , http://b:2").engine_urls == ("http://a:1", "http://b:2")


def test_the_docs_hold_every_setting_as_the_code_has_it():
    assert settings_table() in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8"), (
        "run: folio settings --markdown, and put its table into docs/settings.md"
    )
