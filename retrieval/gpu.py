"""The dense index on the GPUs of this machine, where FAISS was built for them; unfiltered searches only.

FAISS's GPU indexes take no selection of vectors, so a search with filters or removed vectors runs on the CPU.
"""

import threading
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

MOST = 2048  # results, and lists probed, of one search by FAISS's kernels


class GpuIndex:
    """A copy of an index on every GPU."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._lock = threading.Lock()  # one search at a time: its temporary memory is shared

    def takes(self, limit: int, probes: int) -> bool:
        """Whether a search of this size can run here."""
        return limit <= MOST and probes <= MOST

    def search(self, query: npt.NDArray[np.float32], limit: int) -> npt.NDArray[np.int64]:
        """The positions of the nearest codes, best first."""
        with self._lock:
            _, positions = self._index.search(query[None, :], limit)
        found: npt.NDArray[np.int64] = positions[0][positions[0] >= 0]
        return found


def to_gpu(index: Any) -> GpuIndex | None:
    """The index on all GPUs; None where there are none or this FAISS knows none."""
    if not hasattr(faiss, "index_cpu_to_all_gpus") or faiss.get_num_gpus() < 1:
        return None
    return GpuIndex(faiss.index_cpu_to_all_gpus(index))
