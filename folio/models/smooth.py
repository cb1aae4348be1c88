"""SmoothQuant (Xiao et al. 2022): moves the outliers of activations into the weights, so that both fit into 8 bits.

Each input channel j of a linear layer is divided by s_j = max|X_j|^a / max|W_j|^(1-a) and the weights that read it are
multiplied by it. The division is folded into what makes the input: the norm before it, the rows of `v_proj` before
`o_proj`, the rows of `up_proj` before `down_proj`. In exact arithmetic the model computes what it did before.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from folio.errors import ConfigurationError

ALPHA = 0.5  # the paper's value
TINY = 1e-5
# Models whose norms multiply by their weight and whose layers carry these names.
ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")
READ = ("self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.down_proj")

Maxima = dict[str, torch.Tensor]
"""The largest |activation| of each input channel, by the name of the linear layer that reads it."""


def activation_maxima(
    model: Any, sequences: Sequence[torch.Tensor], progress: Callable[[int, int], None] = lambda done, total: None
) -> Maxima:
    """Run token sequences `(1, n)` through the model and note the largest magnitude of each channel.

    Raises:
        ConfigurationError: the architecture is not one that this file knows.
    """
    kind = model.config.model_type
    if kind not in ARCHITECTURES:
        raise ConfigurationError(
            f"Smoothing is known for {', '.join(ARCHITECTURES)}, not for {kind!r}. Use --no-smooth for plain W8A8."
        )
    maxima: Maxima = {}
    with _observed(model, maxima), torch.inference_mode():
        for done, tokens in enumerate(sequences):
            progress(done, len(sequences))
            model(tokens, use_cache=False)
    progress(len(sequences), len(sequences))
    return maxima


def smooth(model: Any, maxima: Maxima, alpha: float = ALPHA) -> None:
    """Change the model's weights in place."""
    with torch.inference_mode():
        for number, layer in enumerate(model.model.layers):
            read = {name: maxima[f"{number}.{name}"] for name in READ}
            _smooth_layer(layer, read, alpha)


def _smooth_layer(layer: Any, read: Maxima, alpha: float) -> None:
    attention, mlp = layer.self_attn, layer.mlp
    at_attention, at_output, at_mlp, at_down = (read[name] for name in READ)
    _fold(at_attention, [attention.q_proj, attention.k_proj, attention.v_proj], layer.input_layernorm, alpha)
    _fold(at_mlp, [mlp.gate_proj, mlp.up_proj], layer.post_attention_layernorm, alpha)
    _fold(at_down, [mlp.down_proj], mlp.up_proj, alpha)
    heads = attention.o_proj.in_features // attention.head_dim
    shared = heads // (attention.v_proj.out_features // attention.head_dim)
    _fold(at_output, [attention.o_proj], attention.v_proj, alpha, shared, attention.head_dim)


def _fold(seen: torch.Tensor, readers: list[Any], maker: Any, alpha: float, shared: int = 1, width: int = 1) -> None:
    """Divide what `maker` makes and multiply what `readers` read.

    Args:
        shared: heads of queries that read the same head of values, and so must share its scale.
        width: channels of a head.
    """
    weights = torch.stack([reader.weight.float().abs().amax(dim=0) for reader in readers]).amax(dim=0)
    scale = seen.clamp(min=TINY) ** alpha / weights.clamp(min=TINY) ** (1 - alpha)
    of_maker = scale.view(-1, shared, width).amax(dim=1) if shared > 1 else scale.view(-1, width)
    scale = of_maker.unsqueeze(1).expand(-1, shared, -1).reshape(-1)
    made = of_maker.reshape(-1)
    rows = made.unsqueeze(1) if maker.weight.dim() > 1 else made
    maker.weight.copy_((maker.weight.float() / rows).to(maker.weight.dtype))
    if getattr(maker, "bias", None) is not None:
        maker.bias.copy_((maker.bias.float() / made).to(maker.bias.dtype))
    for reader in readers:
        reader.weight.copy_((reader.weight.float() * scale).to(reader.weight.dtype))


@contextmanager
def _observed(model: Any, maxima: Maxima) -> Iterator[None]:
    hooks = []
    for number, layer in enumerate(model.model.layers):
        for name in READ:

            def note(_: Any, inputs: tuple[torch.Tensor, ...], key: str = f"{number}.{name}") -> None:
                found = inputs[0].detach().float().abs().flatten(0, -2).amax(dim=0)
                maxima[key] = torch.maximum(maxima[key], found) if key in maxima else found

            hooks.append(layer.get_submodule(name).register_forward_pre_hook(note))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
