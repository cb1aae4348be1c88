"""Search latency over 100,000 chunks, the embedding of the question included, against its bare parts in the same run.

Folio's search (both legs' top 50 fused, feedback, passages read) is timed question by question, each followed by the
bare parts for the same question: the embedding model's own call, FAISS's exact index over the same vectors, and a
tantivy query over the same files. The ratio is that of the medians. The collection is synthetic and kept in the cache.

    python benchmarks/search_latency.py [--quick]    # --quick: 20,000 chunks
    python benchmarks/search_latency.py --million    # the dense index alone at 1,000,000 vectors: size, recall, latency
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import tantivy
from sqlalchemy import func, select
from synthetic_library import SyntheticText, SyntheticVectors, fill

from folio.catalog.models import Chunk
from folio.log import configure_logging
from folio.services import Services, build_services
from folio.settings import load_settings
from retrieval.analysis import question_terms
from retrieval.dense import DenseIndex
from retrieval.generation_files import GenerationStore
from retrieval.vector_index import exact_ranking, sampled_questions
from retrieval.working import LEXICAL

TOP = 50
WARM_UP = 10
PER_DRAW = 50_000  # vectors
VERSION = 2  # of the synthetic collection; raise it when its making changes


@dataclass
class Times:
    """Milliseconds of each question."""

    folio: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=lambda: {"embed": [], "faiss": [], "tantivy": []})
    stages: dict[str, list[float]] = field(default_factory=dict)

    def bare(self) -> list[float]:
        """The sum of the parts for each question."""
        return [sum(times) for times in zip(*self.parts.values(), strict=True)]


class BareParts:
    """The libraries as they come, over the same vectors and files."""

    def __init__(self, services: Services, collection_id: str) -> None:
        info = services.collections.get("default")
        generation = GenerationStore(services.settings.indexes_dir, collection_id).newest(
            info.embedding_fingerprint, info.dimension
        )
        assert generation is not None
        self._model = services.embedder.load()  # type: ignore[attr-defined]
        self._faiss = faiss.IndexFlatIP(info.dimension)
        self._faiss.add(np.load(generation.folder / "dense" / "vectors.npy").astype(np.float32))
        self._tantivy = tantivy.Index.open(str(generation.folder / LEXICAL))

    def run(self, question: str, parts: dict[str, list[float]]) -> None:
        """Time each part for one question."""
        vector = timed(parts["embed"], lambda: self._model.encode_query(question, normalize_embeddings=True))
        timed(parts["faiss"], lambda: self._faiss.search(vector[None, :], TOP))
        terms = " ".join(question_terms(question))
        timed(parts["tantivy"], lambda: self._lexical(terms))

    def _lexical(self, terms: str) -> object:
        query = self._tantivy.parse_query(terms, ["terms"])
        return self._tantivy.searcher().search(query, TOP)


def timed(into: list[float], call: Callable[[], Any]) -> Any:
    """Call, and note the milliseconds."""
    began = time.perf_counter()
    result = call()
    into.append((time.perf_counter() - began) * 1000)
    return result


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20,000 chunks and 60 questions")
    parser.add_argument("--million", action="store_true", help="the dense index alone, 1,000,000 vectors")
    options = parser.parse_args()
    configure_logging(load_settings(log_level="WARNING"))
    if options.million:
        print(json.dumps(measure_dense(1_000_000)))
    else:
        print(json.dumps(measure(20_000, 60) if options.quick else measure(100_000, 200)))


def measure(chunks: int, questions: int) -> dict[str, object]:
    """Latency of whole searches over a collection of that size."""
    services = open_library(chunks)
    try:
        asked = draw_questions(services, questions + WARM_UP)
        say("opening the index, measuring the legs")
        services.searcher.warm()
        services.searcher.search(asked[0])
        info = services.collections.get("default")
        bare, times = BareParts(services, info.id), Times()
        for number, question in enumerate(asked):
            if number == WARM_UP:
                times = Times()
            result = timed(times.folio, lambda q=question: services.searcher.search(q))
            for stage in ("embed_ms", "dense_ms", "lexical_ms", "fuse_ms", "total_ms"):
                times.stages.setdefault(stage, []).append(getattr(result.timing, stage))
            bare.run(question, times.parts)
        return figures(chunks, times)
    finally:
        services.close()


def measure_dense(count: int) -> dict[str, object]:
    """Size, recall and latency of the dense index alone."""
    space = SyntheticVectors(384)
    vectors = np.empty((count, 384), dtype="<f2")
    for first in range(0, count, PER_DRAW):
        drawn = space.documents(min(PER_DRAW, count - first) // 10, 10)
        vectors[first : first + len(drawn)] = drawn
    say(f"indexing {count} vectors")
    began = time.perf_counter()
    built = DenseIndex.build(384, np.arange(count), np.arange(count) // 10, vectors)
    build_s = time.perf_counter() - began
    say("the exact ranking of 200 questions")
    questions = sampled_questions(vectors, 200, seed=1)  # not those that the index was tuned with
    truth = exact_ranking(vectors, questions, TOP)
    with tempfile.TemporaryDirectory(prefix="folio-bench-") as folder:
        built.write(Path(folder) / "dense")
        index = DenseIndex.load(Path(folder) / "dense", 384, built.layout)
        on_disk = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        del built, vectors
        times: list[float] = []
        found = [timed(times, lambda q=question: index.search(q, TOP))[0] for question in questions]
        recall = float(np.mean([len(np.intersect1d(a, b)) / TOP for a, b in zip(found, truth, strict=True)]))
    return {
        "benchmark": "search_latency_million",
        "ratio": round(recall, 4),
        "baseline": "recall at 50 against the exact ranking of the same vectors",
        "median": {"search_ms": round(statistics.median(times), 2)},
        "p95": {"search_ms": round(percentile(times, 95), 2)},
        "spread": [round(min(times), 2), round(max(times), 2)],
        "layout": asdict(index.layout),
        "on_disk_mib": round(on_disk / 2**20),
        "build_s": round(build_s, 1),
        "vectors": count,
        "n": len(times),
    }


def open_library(chunks: int) -> Services:
    """The synthetic Folio of that size, made if it is not there."""
    folder = load_settings().cache_dir / "benchmarks" / f"search-{chunks}-v{VERSION}"
    services = build_services(load_settings(data_dir=folder, candidates=TOP))
    info = services.collections.get_or_create("default")
    if info.chunks != chunks:
        say(f"writing {chunks} chunks to {folder}")
        fill(services.catalog, info.id, info.dimension, chunks)
    return services


def draw_questions(services: Services, count: int) -> list[str]:
    """Questions with words of chunks spread over the collection."""
    with services.catalog.read() as session:
        total = session.scalar(select(func.max(Chunk.id))) or 0
        wanted = np.linspace(1, total, count).astype(int).tolist()
        texts = session.scalars(select(Chunk.text).where(Chunk.id.in_(wanted))).all()
    draw = SyntheticText(seed=2)
    return [draw.question(text) for text in texts]


def figures(chunks: int, times: Times) -> dict[str, object]:
    """The result."""
    bare = times.bare()
    return {
        "benchmark": "search_latency",
        "ratio": round(statistics.median(times.folio) / statistics.median(bare), 3),
        "baseline": "sum of the bare parts: the model's encode, FAISS IndexFlatIP, one tantivy query; ms",
        "median": {"folio_ms": round(statistics.median(times.folio), 2), "bare_ms": round(statistics.median(bare), 2)},
        "p95": {"folio_ms": round(percentile(times.folio, 95), 2), "bare_ms": round(percentile(bare, 95), 2)},
        "spread": [round(min(times.folio), 2), round(max(times.folio), 2)],
        "bare_parts_ms": {name: round(statistics.median(values), 2) for name, values in times.parts.items()},
        "stages_ms": {name: round(statistics.median(values), 2) for name, values in times.stages.items()},
        "chunks": chunks,
        "n": len(times.folio),
    }


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` percent lie."""
    return float(np.percentile(values, share))


def say(text: str) -> None:
    """Tell what is going on, on stderr; stdout ends with the result."""
    print(f"# {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
