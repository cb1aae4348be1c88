"""Opens a sentence-transformers model and what is needed beside it: a token counter, threads that embed."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from folio.errors import ModelMissing

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DOCUMENT_PROMPTS = ("document", "passage", "corpus")  # names under which models keep them, the usual one first
QUERY_PROMPTS = ("query",)
DEFAULT_MAX_TOKENS = 512  # of models that name no maximum

TokenCounter = Callable[[Sequence[str]], list[int]]


def open_model(name: str, path: Path | str, *, device: str | None, dtype: str) -> "SentenceTransformer":
    """Load a model, ready to embed.

    Args:
        name: what the settings call it, for the message.
        device: a torch device; None lets the library choose.
        dtype: the torch type of its weights. On CPUs with bfloat16 units `bfloat16` measures two to three times as
            fast as `float32` at equal vectors.

    Raises:
        ModelMissing: there is no such model.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    try:
        model = SentenceTransformer(str(path), device=device, local_files_only=Path(path).exists())
    except (OSError, ValueError) as exc:
        raise ModelMissing(
            f"The embedding model {name!r} can't be loaded from {path}. "
            "Run `folio models prepare`, or set FOLIO_EMBEDDING_MODEL to a model that exists."
        ) from exc
    model.to(getattr(torch, dtype))
    model.eval()
    return model


def token_counter(tokenizer: Any) -> TokenCounter:
    """Counts tokens without special tokens, on a copy that embedding threads never touch.

    The tokenizers library is called directly where the model has one of its tokenizers: chunking counts every sentence
    twice, and transformers' own call costs several times as much.
    """
    import copy

    own = copy.deepcopy(tokenizer)
    backend = getattr(own, "backend_tokenizer", None)
    if backend is None:
        return lambda texts: [
            len(ids) for ids in own(list(texts), add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        ]
    backend.no_truncation()
    backend.no_padding()
    return lambda texts: [len(one) for one in backend.encode_batch_fast(list(texts), add_special_tokens=False)]


def single_threaded_pool(threads: int) -> ThreadPoolExecutor:
    """Threads whose torch operations use one core each."""
    import torch

    return ThreadPoolExecutor(threads, "embedding", initializer=torch.set_num_threads, initargs=(1,))
