"""Ingestion of files that are text already, against the bare embedding model on the same chunks in the same run.

A real worker process ingests a job of text files (storage, queue, parsers in child processes, chunks, vectors, catalog,
index generation); the clock stops when the generation is published. Then `SentenceTransformer.encode` embeds the same
strings in one call, in the same number format and as the library loads the model by itself. `ratio` is Folio's rate
over the former, `ratio_library_default` over the latter.

    python benchmarks/ingest_throughput.py [--quick] [--memory]

`--memory` ingests 50,000 short chunks instead and samples the worker's resident memory.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import func, select

from folio.catalog.models import Chunk, IndexChange, IndexGeneration, IngestJob
from folio.services import Services, build_services
from folio.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[1]
POLL_S = 0.1
SAMPLE_S = 0.5


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the chunks, one round")
    parser.add_argument("--memory", action="store_true", help="50,000 short chunks, and the worker's memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="folio-ingest-") as folder:
        if options.memory:
            result = measure_memory(Path(folder), documents=50 if options.quick else 500)
        else:
            result = measure_rate(
                Path(folder), documents=30 if options.quick else 200, rounds=1 if options.quick else 2
            )
    print(json.dumps(result))


def measure_rate(folder: Path, *, documents: int, rounds: int) -> dict[str, object]:
    """Folio's rate and the bare rate, in turns."""
    settings = load_settings(data_dir=folder / "state")
    services = build_services(settings)
    rates: list[tuple[float, float, float]] = []
    with worker(settings, services) as process:
        for number in range(rounds):
            files = write_documents(folder / f"round{number}", documents, sentences_each=110, seed=number)
            ours = ingest(services, f"round{number}", files)
            texts = chunk_texts(services, files, f"round{number}")
            wait_until_idle(process.pid)
            bare = encode_bare(services, texts, settings.embedding_dtype)
            default = encode_bare(services, texts, "float32")
            rates.append((ours["rate"], bare, default))
            say(
                f"round {number}: {len(texts)} chunks of {documents} files; folio {ours['rate']:.1f}/s "
                f"({ours['seconds']:.1f} s, of which {ours['publish_s']:.1f} s after the last document), "
                f"bare {bare:.1f}/s, in float32 {default:.1f}/s: ratio {ours['rate'] / bare:.3f}"
            )
    services.close()
    each = [ours / bare for ours, bare, _ in rates]
    folio_rate, bare_rate, default_rate = (round(statistics.median(column), 1) for column in zip(*rates, strict=True))
    return {
        "benchmark": "ingest_throughput",
        "ratio": round(statistics.median(each), 3),
        "ratio_library_default": round(statistics.median(ours / default for ours, _, default in rates), 3),
        "baseline": "SentenceTransformer.encode of the same strings in one call, same number format, chunks a second",
        "median": {
            "folio_chunks_per_s": folio_rate,
            "bare_chunks_per_s": bare_rate,
            "bare_float32_chunks_per_s": default_rate,
        },
        "spread": [round(min(each), 3), round(max(each), 3)],
        "n": rounds,
        "chunks": len(texts),
        "files": documents,
    }


def measure_memory(folder: Path, *, documents: int) -> dict[str, object]:
    """The worker's resident memory while many chunks go in."""
    os.environ["FOLIO_CHUNK_TOKENS"] = "32"
    settings = load_settings(data_dir=folder / "state")
    services = build_services(settings)
    files = write_documents(folder / "files", documents, sentences_each=100, seed=1, words=12)
    with worker(settings, services) as process:
        samples: list[float] = []
        outcome = ingest(services, "memory", files, lambda: samples.append(resident_mib(process.pid)))
    services.close()
    quarters = [round(samples[len(samples) * part // 4 - 1]) for part in (1, 2, 3, 4)]
    say(f"{outcome['chunks']:.0f} chunks in {outcome['seconds']:.0f} s; MiB after each quarter: {quarters}")
    return {
        "benchmark": "ingest_memory",
        "ratio": round(max(samples) / 2560, 3),
        "baseline": "2,560 MiB of resident memory in the worker",
        "median": round(statistics.median(samples)),
        "spread": [round(min(samples)), round(max(samples))],
        "n": len(samples),
        "chunks": int(outcome["chunks"]),
        "quarters_mib": quarters,
        "chunks_per_s": round(outcome["rate"], 1),
    }


@contextmanager
def worker(settings: Settings, services: Services) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process that has its model loaded and has done its first job."""
    environment = {**os.environ, "FOLIO_DATA_DIR": str(settings.data_dir), "FOLIO_LOG_LEVEL": "ERROR"}
    process = subprocess.Popen([sys.executable, "-m", "folio", "worker"], cwd=ROOT, env=environment)
    try:
        job = services.ingestion.submit_text("warm", "Warm", "The kettle is on.")
        while not services.ingestion.job(job.id).is_finished:
            if process.poll() is not None:
                raise SystemExit("The worker ended; see its message above.")
            time.sleep(POLL_S)
        wait_until_idle(process.pid)  # its generation is published, and nothing runs any more
        yield process
    finally:
        process.terminate()
        process.wait(60)


def ingest(services: Services, collection: str, files: Path, sample: object = None) -> dict[str, float]:
    """Submit a folder and wait until all of it is searchable and its index generation published."""
    incoming = services.ingestion.collect([str(files)])
    began = time.monotonic()
    job_id = services.ingestion.submit(collection, incoming).id
    sampled_at = began
    while not is_finished(services, job_id):
        if callable(sample) and time.monotonic() - sampled_at >= SAMPLE_S:
            sample()
            sampled_at = time.monotonic()
        time.sleep(POLL_S)
    done = time.monotonic()
    job = services.ingestion.job(job_id)
    if job.files.done != len(incoming):
        raise SystemExit(f"Not every file went in: {job.files}.")
    collection_id = services.collections.get(collection).id
    while not is_published(services, collection_id):
        time.sleep(POLL_S)
    seconds = time.monotonic() - began
    return {
        "seconds": seconds,
        "publish_s": time.monotonic() - done,
        "chunks": job.chunks_done,
        "rate": job.chunks_done / seconds,
    }


def is_finished(services: Services, job_id: str) -> bool:
    """Whether a job has ended; costs next to nothing, as the clock runs meanwhile."""
    with services.catalog.read() as session:
        state = session.scalar(select(IngestJob.state).where(IngestJob.id == job_id))
    return state not in ("queued", "running")


def is_published(services: Services, collection_id: str) -> bool:
    """Whether the newest index generation holds the newest change."""
    with services.catalog.read() as session:
        newest = session.scalar(select(func.max(IndexChange.seq)).where(IndexChange.collection_id == collection_id))
        query = select(func.max(IndexGeneration.sequence)).where(IndexGeneration.collection_id == collection_id)
        return (session.scalar(query) or 0) >= (newest or 0)


def chunk_texts(services: Services, files: Path, collection: str) -> list[str]:
    """The very strings that the worker embedded; checked against the catalog by their hashes."""
    from ingest.chunking import Chunker
    from ingest.parsers.registry import parse

    settings = services.settings
    chunker = Chunker(
        services.embedder, chunk_tokens=settings.chunk_tokens, overlap_tokens=settings.chunk_overlap_tokens
    )
    chunks = [
        chunk
        for path in sorted(files.iterdir())
        for parsed in [parse(path, path.name, "text/plain")]
        for chunk in chunker.split(parsed, parsed.title or path.stem)
    ]
    with services.catalog.read() as session:
        collection_id = services.collections.get(collection).id
        stored = set(session.scalars(select(Chunk.embedded_sha256).where(Chunk.collection_id == collection_id)))
    if {chunk.embedded_sha256 for chunk in chunks} != stored:
        raise SystemExit("The chunks made here are not those in the catalog; the comparison would be unfair.")
    return [chunk.embedded for chunk in chunks]


def encode_bare(services: Services, texts: list[str], dtype: str) -> float:
    """Texts a second of the bare library with its own defaults, in a torch number format."""
    import torch
    from sentence_transformers import SentenceTransformer

    from folio.models.resolve import resolve_embedder

    model = SentenceTransformer(str(resolve_embedder(services.settings)), device="cpu")
    model.to(getattr(torch, dtype))
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model.encode(texts[:32], show_progress_bar=False)
    began = time.monotonic()
    model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    return len(texts) / (time.monotonic() - began)


def write_documents(folder: Path, count: int, *, sentences_each: int, seed: int, words: int = 0) -> Path:
    """Text files of sentences drawn from the sample documents, in paragraphs; no two chunks are equal."""
    chance = random.Random(seed)
    said = [
        sentence
        for path in sorted((ROOT / "data/en").rglob("*.md"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line and line[0] not in "#|-<>`*"
        for sentence in re.split(r"(?<=[.!?]) ", line)
        if len(sentence) > 30
    ]
    vocabulary = sorted({word for sentence in said for word in sentence.split()})
    folder.mkdir(parents=True)
    for number in range(count):
        if words:
            drawn = [f"{' '.join(chance.choices(vocabulary, k=words))}." for _ in range(sentences_each)]
        else:
            drawn = chance.choices(said, k=sentences_each)
        each = 1 if words else 5
        paragraphs = [" ".join(drawn[first : first + each]) for first in range(0, len(drawn), each)]
        (folder / f"note-{seed}-{number}.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    return folder


def wait_until_idle(pid: int) -> None:
    """Wait until a process computes for less than a tenth of a second in two."""

    def processor_s() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = -1.0
    while (now := processor_s()) - before >= 0.1:
        before = now
        time.sleep(2)


def resident_mib(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024  # type: ignore[union-attr]


def say(text: str) -> None:
    """Progress, beside the result."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
