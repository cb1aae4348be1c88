"""Time to first token through Folio, retrieval taken off, against the same prompt sent straight to the same vLLM.

Each sample question is asked through Folio over HTTP, and the prompt that Folio makes of it is sent to the engine too,
in turns, each time with a prefix cache of its own, so that both compute it anew. The ratio is that of the medians.

    python benchmarks/ttft_overhead.py [--quick]
"""

import argparse
import json
import statistics

from sample_folio import ask_engine, ask_folio, new_salt, prompt_for, sample_folio, sample_questions, say

TOKENS = 16


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="six questions instead of sixteen")
    questions = sample_questions("en")[: 6 if parser.parse_args().quick else 16]
    through, direct, retrieval = [], [], []
    with sample_folio() as folio:
        say("warming up")
        ask_folio(folio, "Is anybody there?")
        for number, question in enumerate(questions):
            prompt = prompt_for(folio, question)
            if number % 2:
                direct.append(ask_engine(folio, prompt, new_salt(), TOKENS).ttft_ms)
            folio.engine.salt = new_salt()
            answer = ask_folio(folio, question, sampling={"max_tokens": TOKENS})
            if not number % 2:
                direct.append(ask_engine(folio, prompt, new_salt(), TOKENS).ttft_ms)
            retrieval.append(answer.done["timing"]["retrieval_ms"])
            through.append(answer.ttft_ms - retrieval[-1])
            say(f"folio {through[-1]:.0f} + retrieval {retrieval[-1]:.0f}, engine {direct[-1]:.0f} ms: {question}")
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
