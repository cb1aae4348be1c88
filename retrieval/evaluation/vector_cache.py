"""Vectors of evaluation texts, kept between runs by the text's hash and the model's fingerprint."""

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from tqdm import tqdm

from retrieval.embedder import Embedder, Vectors

BATCH = 512
_LOOKUP = 500


class VectorCache:
    """Embeds texts, those seen before from disk.

    Args:
        folder: where the cache lies; safe to delete.
    """

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / f"{embedder.fingerprint[:16]}.db"
        self._embedder = embedder

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors `(len(texts), dimension)`, rounded to the float16 that the catalog keeps."""
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        with closing(sqlite3.connect(self._file, timeout=60)) as database:
            database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
            known = self._known(database, keys)
            fresh = sorted({i for i, key in enumerate(keys) if key not in known}, key=lambda i: len(texts[i]))
            for first in tqdm(range(0, len(fresh), BATCH), unit_scale=BATCH, unit="texts", disable=len(fresh) < BATCH):
                part = fresh[first : first + BATCH]
                vectors = np.asarray(self._embedder.embed_documents([texts[i] for i in part]), dtype="<f2")
                rows = [(keys[i], vector.tobytes()) for i, vector in zip(part, vectors, strict=True)]
                database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
                database.commit()
                known.update(rows)
        joined = b"".join(known[key] for key in keys)
        return np.frombuffer(joined, dtype="<f2").reshape(len(texts), -1).astype(np.float32)

    def _known(self, database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        known: dict[bytes, bytes] = {}
        for first in range(0, len(keys), _LOOKUP):
            part = keys[first : first + _LOOKUP]
            marks = ",".join("?" * len(part))
            known.update(database.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part))
        return known
