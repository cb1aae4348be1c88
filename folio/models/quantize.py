"""INT8 weights and activations (W8A8) for a Hugging Face causal language model, in the compressed-tensors format.

Weights are rounded to int8 with one scale per output channel, symmetric; vLLM quantizes activations per token at run
time. `lm_head` and the embeddings stay as they are. The format is that of vllm-project/compressed-tensors
("int-quantized"), which vLLM loads on CPUs and GPUs alike.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

INT8_MAX = 127.0
LINEAR_SUFFIXES = (
    "q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight",
    "gate_proj.weight", "up_proj.weight", "down_proj.weight",
)  # fmt: skip

INT8 = {"num_bits": 8, "type": "int", "symmetric": True}
QUANTIZATION_CONFIG = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "quantization_status": "compressed",
    "ignore": ["lm_head"],
    "kv_cache_scheme": None,
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {**INT8, "strategy": "channel", "dynamic": False},
            "input_activations": {**INT8, "strategy": "token", "dynamic": True},
            "output_activations": None,
        }
    },
}


def quantize_weight(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Round a `(out, in)` weight to int8.

    Returns:
        The int8 weight `(out, in)` and its scale `(out, 1)` in the weight's own dtype: `weight ~ int8 * scale`.
    """
    full = weight.to(torch.float32)
    scale = full.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / INT8_MAX
    stored = scale.to(weight.dtype)
    rounded = torch.clamp(torch.round(full / stored.to(torch.float32)), -128, INT8_MAX).to(torch.int8)
    return rounded, stored


def quantize_w8a8(source: Path, target: Path, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Write the W8A8 version of the model folder `source` into the new folder `target`.

    Args:
        source: folder with `config.json` and safetensors weights in floating point.
        target: folder to fill; must exist.
        progress: called with tensors done and their total.
    """
    shards = sorted(source.glob("*.safetensors"))
    total = 0
    for shard in shards:
        with safe_open(shard, "pt") as tensors:
            total += len(list(tensors.keys()))
    done = 0
    weight_map: dict[str, str] = {}
    for shard in shards:
        out: dict[str, torch.Tensor] = {}
        with safe_open(shard, "pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - a safetensors handle is not iterable
                tensor = tensors.get_tensor(name)
                if name.endswith(LINEAR_SUFFIXES):
                    out[name], out[f"{name}_scale"] = quantize_weight(tensor)
                else:
                    out[name] = tensor
                done += 1
                progress(done, total)
        save_file(out, target / shard.name, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(out, shard.name)
    for file in source.iterdir():
        if file.is_file() and file.suffix != ".safetensors" and file.name != "model.safetensors.index.json":
            shutil.copy2(file, target / file.name)
    if len(shards) > 1:
        index = {"metadata": {}, "weight_map": weight_map}
        (target / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = QUANTIZATION_CONFIG
    (target / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
