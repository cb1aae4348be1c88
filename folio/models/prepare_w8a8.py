"""Makes the W8A8 version of any Hugging Face causal language model that it can, smoothed by calibration text."""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from folio.errors import ConfigurationError, ModelMissing
from folio.models.starter import Progress, prepared

SEQUENCES = 16
SEQUENCE_TOKENS = 256
SAMPLES = Path(__file__).resolve().parents[2] / "data"


def calibration_text(file: Path | None) -> str:
    """The text of `file`, or that of the sample documents.

    Raises:
        ConfigurationError: there is none.
    """
    files = [file] if file else sorted(path for path in SAMPLES.glob("*/*") if path.suffix in (".md", ".txt"))
    text = "\n\n".join(path.read_text(encoding="utf-8") for path in files)
    if not text.strip():
        raise ConfigurationError("There is no calibration text: give some with --calibration FILE.")
    return text


def prepare_w8a8(source: str, models_dir: Path, text: str | None, progress: Progress) -> Path:
    """The folder of the W8A8 version of `source` (a folder or a hub name), made if it is not there yet.

    Args:
        text: calibration text for SmoothQuant; None quantizes without smoothing.

    Raises:
        ModelMissing: it can't be loaded.
        ConfigurationError: its architecture can't be smoothed.
    """
    from folio.models.quantize import quantize_w8a8

    smoothed = "-smooth" if text is not None else ""
    name = re.sub(r"[^\w.-]+", "--", Path(source).expanduser().name if Path(source).is_dir() else source)
    target = models_dir / f"{name}-W8A8{smoothed}"
    with prepared(target) as partial:
        if partial is not None:
            with tempfile.TemporaryDirectory(prefix=".smooth-", dir=models_dir) as scratch:
                full = Path(scratch)
                _write_full(source, full, text, progress)
                quantize_w8a8(full, partial, lambda done, total: progress("quantize to INT8", done, total))
    return target


def _write_full(source: str, folder: Path, text: str | None, progress: Progress) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from folio.models.smooth import activation_maxima, smooth

    progress("load the model", 0, 1)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16)
    except (OSError, ValueError) as exc:
        raise ModelMissing(f"{source} can't be loaded: {exc}") from exc
    progress("load the model", 1, 1)
    if text is not None:
        sequences = token_sequences(tokenizer, text)
        smooth(model, activation_maxima(model, sequences, _named(progress, "calibrate")))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def token_sequences(tokenizer: Any, text: str) -> list[Any]:
    """Sequences of tokens, evenly spread over the text."""
    import torch

    tokens = torch.tensor(tokenizer(text, verbose=False)["input_ids"])
    pieces = [piece.unsqueeze(0) for piece in tokens.split(SEQUENCE_TOKENS)]
    step = max(1, len(pieces) // SEQUENCES)
    return pieces[::step][:SEQUENCES]


def _named(progress: Progress, step: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(step, done, total)
