"""From a model's name in the settings to the folder or hub name to load it from.

`starter` means the model Folio prepares itself (`folio.models.starter`). A path means that folder. Anything else is a
hub name, loaded by the library that uses it.
"""

from pathlib import Path

from folio.errors import ModelMissing
from folio.settings import Settings

STARTER = "starter"
STARTER_EMBEDDER = "all-MiniLM-L6-v2"
STARTER_LLM = "Qwen2.5-Coder-1.5B-Instruct"
COMPLETE_MARKER = "folio-model.json"  # written last, so a folder that has it is whole


def starter_embedder_dir(settings: Settings) -> Path:
    """Where the prepared starter embedder lies."""
    return settings.models_dir / STARTER_EMBEDDER


def starter_llm_dir(settings: Settings, *, int8: bool = True) -> Path:
    """Where the prepared starter language model lies, in INT8 (for CPUs) or bfloat16 (for GPUs)."""
    return settings.models_dir / (f"{STARTER_LLM}-W8A8" if int8 else STARTER_LLM)


def resolve_embedder(settings: Settings) -> Path | str:
    """The folder or hub name of the embedding model.

    Raises:
        ModelMissing: the starter embedder is not prepared, or the path does not exist.
    """
    return _resolve(settings.embedding_model, starter_embedder_dir(settings), "FOLIO_EMBEDDING_MODEL")


def resolve_llm(settings: Settings, *, int8: bool = True) -> Path | str:
    """The folder or hub name of the language model.

    Raises:
        ModelMissing: the starter model is not prepared, or the path does not exist.
    """
    return _resolve(settings.model, starter_llm_dir(settings, int8=int8), "FOLIO_MODEL")


def _resolve(name: str, starter: Path, variable: str) -> Path | str:
    if name == STARTER:
        if not (starter / COMPLETE_MARKER).is_file():
            raise ModelMissing(f"The starter model is not in {starter}. Run `folio models prepare` to fetch it.")
        return starter
    looks_like_path = name.startswith((".", "/", "~")) or Path(name).is_dir()
    if not looks_like_path:
        return name
    folder = Path(name).expanduser()
    if not (folder / "config.json").is_file():
        raise ModelMissing(f"There is no model in {folder}: it has no config.json. Set {variable} to a model.")
    return folder
