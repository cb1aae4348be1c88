"""INT8 quantization: close to the original, and in the format vLLM reads."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

from folio.models.quantize import quantize_w8a8, quantize_weight


@settings(max_examples=30)
@given(rows=st.integers(1, 8), columns=st.integers(1, 64), seed=st.integers(0, 1000), scale=st.floats(1e-3, 1e3))
def test_a_weight_is_off_by_half_a_step_at_most(rows, columns, seed, scale):
    weight = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)) * scale
    rounded, step = quantize_weight(weight)
    assert rounded.dtype == torch.int8
    assert step.shape == (rows, 1)
    assert torch.all((rounded.float() * step - weight).abs() <= step * 0.5001)


def test_a_row_of_zeros_stays_zero():
    rounded, step = quantize_weight(torch.zeros(2, 4))
    assert torch.all(rounded == 0)
    assert torch.all(step > 0)


@pytest.fixture
def model_folder(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen2"}), encoding="utf-8")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    tensors = {"model.layers.0.mlp.up_proj.weight": torch.randn(4, 8), "lm_head.weight": torch.randn(4, 8)}
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_linear_layers_become_int8_and_the_rest_stays(model_folder, tmp_path):
    target = tmp_path / "int8"
    target.mkdir()
    quantize_w8a8(model_folder, target)
    with safe_open(target / "model.safetensors", "pt") as tensors:
        assert tensors.get_tensor("model.layers.0.mlp.up_proj.weight").dtype == torch.int8
        assert tensors.get_tensor("model.layers.0.mlp.up_proj.weight_scale").shape == (4, 1)
        assert tensors.get_tensor("lm_head.weight").dtype == torch.float32
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    assert config["quantization_config"]["quant_method"] == "compressed-tensors"
    assert (target / "tokenizer.json").exists()
