"""A model's dimension is read from its files, or not at all."""

import json

import pytest

from retrieval.declared import declared_dimension

TRANSFORMER = ("", "Transformer", {})


def model(folder, *modules):
    """A model's folder with these modules: path, type, configuration."""
    listed = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind, _ in modules]
    (folder / "modules.json").write_text(json.dumps(listed))
    for path, _, config in modules:
        (folder / path).mkdir(exist_ok=True)
        (folder / path / "config.json").write_text(json.dumps(config))
    return folder


def pooling(**modes):
    """A pooling of width 384."""
    return ("1_Pooling", "Pooling", {"word_embedding_dimension": 384, **modes})


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ([TRANSFORMER, pooling(pooling_mode_mean_tokens=True), ("2_Normalize", "Normalize", {})], 384),
        ([TRANSFORMER, pooling(pooling_mode_mean_tokens=True, pooling_mode_max_tokens=True)], 768),
        ([TRANSFORMER, pooling(pooling_mode_mean_tokens=True), ("2_Dense", "Dense", {"out_features": 128})], 128),
        ([TRANSFORMER, pooling()], None),
        ([TRANSFORMER, ("1_Own", "Own", {"word_embedding_dimension": 384})], None),
    ],
)
def test_the_dimension_is_that_of_the_last_module(tmp_path, modules, expected):
    assert declared_dimension(model(tmp_path, *modules)) == expected


def test_what_is_not_a_model_folder_says_nothing(tmp_path):
    assert declared_dimension(tmp_path) is None
    assert declared_dimension("some/hub-name") is None


def test_it_is_the_dimension_of_the_real_model(embedder):
    from folio.models.resolve import resolve_embedder
    from folio.settings import load_settings

    assert declared_dimension(resolve_embedder(load_settings())) == len(embedder.embed_query("a"))
