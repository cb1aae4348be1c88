"""SmoothQuant leaves what a model computes as it was, and makes what 8 bits lose smaller where activations have
outliers."""

import json

import pytest
import torch

from folio.errors import ConfigurationError
from folio.models.quantize import quantize_weight
from folio.models.smooth import activation_maxima, smooth

TOKENS = [torch.arange(start, start + 24).unsqueeze(0) for start in (0, 20, 40)]


def tiny_qwen2(**changes: object):
    """A random Qwen2 with grouped heads, biases, and outliers in some channels of its norms, as trained models have."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(7)
    config = Qwen2Config(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=True, **changes,
    )  # fmt: skip
    model = Qwen2ForCausalLM(config).eval()
    with torch.no_grad():
        for layer in model.model.layers:
            layer.input_layernorm.weight[3] = 40.0
            layer.post_attention_layernorm.weight[5] = 60.0
            layer.self_attn.v_proj.bias.normal_()
    return model


@torch.no_grad()
def logits(model) -> torch.Tensor:
    return torch.cat([model(tokens).logits for tokens in TOKENS])


@torch.no_grad()
def simulate_w8a8(model) -> None:
    """Weights rounded as Folio writes them, inputs rounded per token as vLLM does."""

    def rounded(_, inputs):
        scale = inputs[0].abs().amax(dim=-1, keepdim=True).clamp(min=1e-8) / 127
        return (torch.round(inputs[0] / scale) * scale,)

    for name, module in model.model.named_modules():
        if name.endswith("_proj"):
            whole, step = quantize_weight(module.weight)
            module.weight.copy_(whole.float() * step)
            module.register_forward_pre_hook(rounded)


def test_smoothing_leaves_the_outputs_as_they_were() -> None:
    model = tiny_qwen2()
    before = logits(model)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    smooth(model, activation_maxima(model, TOKENS))
    assert torch.allclose(logits(model), before, atol=1e-4)
    changed = [name for name, value in model.state_dict().items() if not torch.equal(value, weights[name])]
    assert {name.split(".")[-2] for name in changed} >= {"input_layernorm", "o_proj", "v_proj", "down_proj", "up_proj"}


def test_smoothing_makes_the_error_of_8_bits_smaller() -> None:
    exact = logits(tiny_qwen2())
    errors = []
    for smoothed in (False, True):
        model = tiny_qwen2()
        if smoothed:
            smooth(model, activation_maxima(model, TOKENS))
        simulate_w8a8(model)
        errors.append(float((logits(model) - exact).abs().mean()))
    assert errors[1] < 0.8 * errors[0]


def test_an_architecture_whose_norms_work_otherwise_is_refused() -> None:
    model = tiny_qwen2()
    model.config.model_type = "gemma2"
    with pytest.raises(ConfigurationError, match="no-smooth"):
        activation_maxima(model, TOKENS)


def test_the_prepared_folder_is_whole_int8_and_made_once(tmp_path, monkeypatch) -> None:
    from transformers import AutoTokenizer

    from folio.models import prepare_w8a8

    class FakeTokenizer:
        def __call__(self, text: str, verbose: bool) -> dict[str, list[int]]:
            return {"input_ids": [ord(letter) % 64 for letter in text]}

        def save_pretrained(self, folder) -> None:
            (folder / "tokenizer.json").write_text("{}", encoding="utf-8")

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", lambda source: FakeTokenizer())
    source = tmp_path / "tiny"
    tiny_qwen2().save_pretrained(source)
    steps = []
    models = tmp_path / "models"
    models.mkdir()
    made = [
        prepare_w8a8.prepare_w8a8(str(source), models, "some text " * 9, lambda step, *_: steps.append(step))
        for _ in range(2)
    ]
    assert made == [models / "tiny-W8A8-smooth"] * 2
    assert steps.count("load the model") == 2  # its beginning and its end, once
    config = json.loads((made[0] / "config.json").read_text(encoding="utf-8"))
    assert config["quantization_config"]["quant_method"] == "compressed-tensors"
    assert (made[0] / "tokenizer.json").is_file()
    assert [path.name for path in models.iterdir() if path.is_dir()] == ["tiny-W8A8-smooth"]
