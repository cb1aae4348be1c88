"""A folder ingested again when nothing in it has changed, against its first ingestion; the second one embeds nothing.

Each round is a new Folio in a temporary folder: text files in English and Chinese go in through the real worker, then
the same folder is submitted again. The ratio is that of the medians, submission to the end of the job.

    python benchmarks/unchanged_files.py [--quick]
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from folio.log import configure_logging
from folio.services import Services, build_services
from folio.settings import load_settings

FILES, ROUNDS = 1000, 3
QUICK_FILES, QUICK_ROUNDS = 200, 1
ENGLISH = "The keeper of lamp {n} wrote that {a} ships passed, that the tide rose by {b} centimetres, and went to bed. "
CHINESE = "第{n}号灯塔的守塔人写道：今天有{a}艘船经过，潮水上涨了{b}厘米，然后他睡了。"


def write_files(folder: Path, count: int) -> None:
    """Files of about 1,500 characters, every second one Chinese, no two alike."""
    chance = random.Random(0)
    for number in range(count):
        sentence, times = (CHINESE, 40) if number % 2 else (ENGLISH, 14)
        text = "".join(
            sentence.format(n=number, a=chance.randrange(10**6), b=chance.randrange(10**6)) for _ in range(times)
        )
        (folder / f"{number:05d}.txt").write_text(text, encoding="utf-8")


def ingest(services: Services, folder: Path) -> float:
    """Seconds until the folder's job is finished."""
    from ingest.worker import Worker

    began = time.perf_counter()
    job = services.ingestion.submit_paths("default", [str(folder)])
    if not job.is_finished:
        worker = Worker(services.catalog, services.embedder, services.generations, services.settings)
        worker.run(threading.Event(), finished=lambda: services.ingestion.job(job.id, items=0).is_finished)
    finished = services.ingestion.job(job.id, items=0).files
    assert finished.done + finished.unchanged == finished.total, finished
    return time.perf_counter() - began


def measure(count: int) -> tuple[float, float]:
    """Seconds of the first and of the second ingestion of `count` files."""
    with tempfile.TemporaryDirectory(prefix="folio-bench-") as temporary:
        folder = Path(temporary) / "in"
        folder.mkdir()
        write_files(folder, count)
        services = build_services(load_settings(data_dir=Path(temporary) / "data"))
        services.embedder.embed_documents(["warm"])
        first, again = ingest(services, folder), ingest(services, folder)
        services.close()
    print(f"{count} files: {first:.1f} s, unchanged {again:.2f} s", file=sys.stderr)
    return first, again


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_FILES} files, once")
    quick = parser.parse_args().quick
    configure_logging(load_settings(log_level="WARNING"))
    files, rounds = (QUICK_FILES, QUICK_ROUNDS) if quick else (FILES, ROUNDS)
    pairs = [measure(files) for _ in range(rounds)]
    ratios = sorted(again / first for first, again in pairs)
    first, again = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(
        json.dumps(
            {
                "benchmark": "unchanged_files",
                "ratio": round(again / first, 4),
                "baseline": "the first ingestion of the same files",
                "median": {"first_s": round(first, 2), "again_s": round(again, 3)},
                "spread": [round(ratios[0], 4), round(ratios[-1], 4)],
                "files": files,
                "n": rounds,
            }
        )
    )


if __name__ == "__main__":
    main()
