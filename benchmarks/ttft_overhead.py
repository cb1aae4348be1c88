"""Time to first token through Folio, retrieval taken off, against the same prompt sent straight to the same vLLM.

Each sample question is asked through Folio over HTTP (its prompt is new, so the engine computes it), then the very
prompt of its receipt is sent to the engine with a few characters changed at its beginning, so that it is computed anew
there too. The ratio is that of the medians.

    python benchmarks/ttft_overhead.py [--quick]
"""

import argparse
import json
import statistics

from sample_folio import ask_engine, ask_folio, prompt_of, sample_folio, sample_questions, say, uncached


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="five questions instead of all of one language")
    questions = sample_questions("en")
    if parser.parse_args().quick:
        questions = questions[:5]
    through, direct, retrieval = [], [], []
    with sample_folio() as folio:
        ask_folio(folio, "Is anybody there?")
        for number, question in enumerate(questions):
            answer = ask_folio(folio, question)
            assert answer.done is not None
            retrieval_ms = answer.done["timing"]["retrieval_ms"]
            cached_share = answer.done["usage"]["cached_tokens"] / max(1, answer.done["usage"]["prompt_tokens"])
            bare = ask_engine(folio, uncached(prompt_of(folio, answer.done["answer_id"]), number), max_tokens=16)
            if cached_share > 0.1:
                say(f"left out, {cached_share:.0%} of its prompt was cached: {question}")
                continue
            through.append(answer.ttft_ms - retrieval_ms)
            direct.append(bare.ttft_ms)
            retrieval.append(retrieval_ms)
            say(f"folio {through[-1]:.0f} ms + retrieval {retrieval_ms:.0f} ms, engine {direct[-1]:.0f} ms: {question}")
    if not through:
        raise SystemExit("Every prompt was cached in the engine already; measure with an engine of its own.")
    ratios = sorted(a / b for a, b in zip(through, direct, strict=True))
    print(
        json.dumps(
            {
                "benchmark": "ttft_overhead",
                "ratio": round(statistics.median(through) / statistics.median(direct), 3),
                "baseline": "the same prompt sent straight to the same vLLM, TTFT in ms",
                "median": {
                    "folio_ms": round(statistics.median(through)),
                    "engine_ms": round(statistics.median(direct)),
                },
                "spread": [round(ratios[0], 3), round(ratios[-1], 3)],
                "retrieval_ms": round(statistics.median(retrieval)),
                "n": len(through),
            }
        )
    )


if __name__ == "__main__":
    main()
