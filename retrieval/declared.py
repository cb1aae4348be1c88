"""What an embedding model's folder says of itself, read without loading the model."""

import json
from pathlib import Path
from typing import Any

POOLINGS = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


def declared_dimension(folder: Path | str) -> int | None:
    """The length of the model's vectors, or None where the folder's files don't tell for certain."""
    dimension = None
    for module in _read(Path(folder) / "modules.json", []):
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        settings = _read(Path(folder) / str(module.get("path", "")) / "config.json", {})
        if kind == "Pooling":
            modes = sum(bool(settings.get(f"pooling_mode_{name}")) for name in POOLINGS)
            width = settings.get("word_embedding_dimension")
            dimension = modes * width if modes and isinstance(width, int) else None
        elif kind == "Dense":
            dimension = settings.get("out_features")
        elif kind not in ("Transformer", "Normalize"):
            return None
    return dimension if isinstance(dimension, int) else None


def _read(path: Path, otherwise: Any) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return otherwise
