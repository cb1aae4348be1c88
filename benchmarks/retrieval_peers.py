"""Folio's retrieval beside the hybrid retrievers of LangChain, LlamaIndex, Haystack and txtai, in one run.

All get the same chunks with the same vectors. Measured are nDCG@10 over documents (each by its best chunk) for at most
300 questions of a set, drawn by a fixed seed, and the median time of a search: for Folio its whole search, for a peer
its retrieval plus the median time that the embedding model takes for a question. Peers run in an environment of their
own, which is made in the cache folder at the first run.

    python benchmarks/retrieval_peers.py [FOLDER...] [--lang zh] [--quick]     # --quick: 50 questions of each set
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import venv
from dataclasses import replace
from pathlib import Path

import numpy as np
from peers.retrievers import PEERS

from folio.cli.eval_retrieval import read_texts, splitter
from folio.log import configure_logging
from folio.services import build_embedder
from folio.settings import Settings, load_settings
from retrieval.embedder import Embedder
from retrieval.evaluation.corpus import searchable
from retrieval.evaluation.datasets import EvalSet, read_set
from retrieval.evaluation.measures import means, per_question
from retrieval.evaluation.runs import run_questions
from retrieval.evaluation.vector_cache import VectorCache

HERE = Path(__file__).parent / "peers"
SAMPLES = Path(__file__).parents[1] / "data"
QUESTIONS, QUICK_QUESTIONS = 300, 50


def main() -> None:
    """Measure every set and print one JSON object as the last line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[SAMPLES], help="Sets as for `folio eval retrieval`.")
    parser.add_argument("--lang", default="", help="Only questions in this language.")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_QUESTIONS} questions of each set.")
    arguments = parser.parse_args()
    settings = load_settings()
    configure_logging(settings)
    python = peers_python(settings.cache_dir / "peers")
    embedder = build_embedder(settings)
    sets = {}
    for folder in arguments.folders:
        chosen = draw(read_set(folder, "dev", arguments.lang), QUICK_QUESTIONS if arguments.quick else QUESTIONS)
        sets[chosen.name] = measure(chosen, python, embedder, settings)
        print(chosen.name, json.dumps(sets[chosen.name]), flush=True)
    mean = {who: statistics.mean(each["ndcg@10"][who] for each in sets.values()) for who in ("folio", *PEERS)}
    best = max(PEERS, key=lambda peer: mean[peer])
    print(
        json.dumps(
            {
                "benchmark": "retrieval_peers",
                "ratio": round(mean["folio"] / mean[best], 4),
                "baseline": f"nDCG@10 of {best}, the best peer in the mean over sets",
                "median": round(statistics.median(each["ndcg@10"]["folio"] for each in sets.values()), 4),
                "spread": [find(each["lead"] for each in sets.values()) for find in (min, max)],
                "n": sum(each["n"] for each in sets.values()),
                "sets": sets,
            }
        )
    )


def peers_python(folder: Path) -> Path:
    """The interpreter of the peers' environment, made if it is not there."""
    python, made = folder / "environment/bin/python", folder / "made"
    wanted = (HERE / "requirements.txt").read_text(encoding="utf-8")
    if not made.is_file() or made.read_text(encoding="utf-8") != wanted:
        print("Making the environment of the peers ...", flush=True)
        venv.create(folder / "environment", with_pip=True)
        install = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--requirement",
            str(HERE / "requirements.txt"),
        ]
        if subprocess.run(install, check=False).returncode != 0:  # pip where it finds a CPU build of torch, else uv
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", "uv"], check=True)
            with_uv = ["uv", "pip", "install", "--python", str(python), "--torch-backend=cpu", "--requirement"]
            subprocess.run([str(python), "-m", *with_uv, str(HERE / "requirements.txt")], check=True)
        made.write_text(wanted, encoding="utf-8")
    return python


def draw(chosen: EvalSet, most: int) -> EvalSet:
    """At most so many questions, the same ones each time."""
    order = np.random.default_rng(0).permutation(len(chosen.questions))[:most]
    return replace(chosen, questions=tuple(chosen.questions[n] for n in sorted(order)))


def measure(chosen: EvalSet, python: Path, embedder: Embedder, settings: Settings) -> dict[str, object]:
    """nDCG@10 and median milliseconds of Folio and of each peer on one set."""
    chosen, parsed = read_texts(chosen, withhold=False)
    split = splitter(embedder, parsed)
    with searchable(chosen.documents, split, embedder, settings) as searcher:
        run = run_questions(searcher, chosen.questions)
    rankings = {"folio": run.fused}
    latency = {"folio": run.percentiles()["p50"]}

    pieces = [(document.id, piece.embedded_text) for document in chosen.documents for piece in split(document)]
    folder = settings.cache_dir / "peers" / chosen.name
    folder.mkdir(parents=True, exist_ok=True)
    texts = [text for _, text in pieces]
    vectors, embed_ms = question_vectors(chosen, embedder)
    np.save(folder / "vectors.npy", VectorCache(settings.cache_dir / "evaluation", embedder).embed_documents(texts))
    np.save(folder / "question-vectors.npy", vectors)
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps([q.text for q in chosen.questions]), encoding="utf-8")
    for peer in PEERS:
        command = [str(python), str(HERE / "retrievers.py"), peer, str(folder)]
        subprocess.run(command, check=True, stdout=sys.stderr)
        written = json.loads((folder / f"{peer}.json").read_text(encoding="utf-8"))
        rankings[peer] = {
            question.id: list(dict.fromkeys(pieces[place][0] for place in found))
            for question, found in zip(chosen.questions, written["found"], strict=True)
        }
        latency[peer] = statistics.median(written["ms"]) + embed_ms
    ndcg = {who: round(means(per_question(chosen.questions, ranked))["ndcg@10"], 4) for who, ranked in rankings.items()}
    return {
        "n": len(chosen.questions),
        "ndcg@10": ndcg,
        "lead": round(ndcg["folio"] - max(ndcg[peer] for peer in PEERS), 4),
        "p50_ms": {who: round(each, 1) for who, each in latency.items()},
        "embed_p50_ms": round(embed_ms, 1),
    }


def question_vectors(chosen: EvalSet, embedder: Embedder) -> tuple[np.ndarray, float]:
    """The questions' vectors, and the median milliseconds of embedding one."""
    vectors, times = [], []
    for question in chosen.questions:
        started = time.perf_counter()
        vectors.append(embedder.embed_query(question.text))
        times.append((time.perf_counter() - started) * 1000)
    return np.stack(vectors), statistics.median(times)


if __name__ == "__main__":
    main()
