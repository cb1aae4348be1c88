"""Eight askers at once: tokens a second through Folio against the same prompts sent straight to the same vLLM, and the
time to first token of a second question over the same passages against that of the first.

    python benchmarks/serving.py [--quick]
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sample_folio import ask_engine, ask_folio, prompt_of, sample_folio, sample_questions, say, uncached

ASKERS = 8


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="eight questions instead of all")
    questions = sample_questions()
    if parser.parse_args().quick:
        questions = questions[:ASKERS]
    with sample_folio() as folio:
        ask_folio(folio, "Is anybody there?")
        say(f"{len(questions)} questions through Folio, {ASKERS} at a time")
        folio_s, answers = _timed(lambda question: ask_folio(folio, question), questions)
        done = [answer.done for answer in answers if answer.done is not None]
        prompts = [
            (uncached(prompt_of(folio, one["answer_id"]), number), max(1, one["usage"]["completion_tokens"]))
            for number, one in enumerate(done)
        ]
        say("the same prompts straight to the engine")
        engine_s, _ = _timed(lambda prompt: ask_engine(folio, prompt[0], max_tokens=prompt[1]), prompts)
        say("a second question over the same passages")
        again = [_again(folio, question) for question in questions[:4]]
    print(
        json.dumps(
            {
                "benchmark": "serving",
                "ratio": round(engine_s / folio_s, 3),
                "baseline": f"the same prompts and answer lengths straight to the same vLLM, {ASKERS} at a time",
                "median": {"folio_s": round(folio_s, 1), "engine_s": round(engine_s, 1)},
                "spread": None,
                "second_question_ttft_ratio": round(statistics.median(again), 3),
                "n": len(done),
            }
        )
    )


def _timed(call: Callable, inputs: list) -> tuple[float, list]:
    began = time.perf_counter()
    with ThreadPoolExecutor(ASKERS) as pool:
        results = list(pool.map(call, inputs))
    return time.perf_counter() - began, results


def _again(folio, question: str) -> float:
    """TTFT of a second question in the conversation, as a share of the first's; the first's prompt is made new."""
    first = ask_folio(folio, f"Please tell me: {question}", top_k=4)
    assert first.done is not None
    prompt = prompt_of(folio, first.done["answer_id"])
    computed = ask_engine(folio, uncached(prompt, int(time.time()) % 10_000), max_tokens=8).ttft_ms
    second = ask_folio(folio, f"Tell me again: {question}", top_k=4, conversation_id=first.done["conversation_id"])
    assert second.done is not None
    return (second.ttft_ms - second.done["timing"]["retrieval_ms"]) / computed


if __name__ == "__main__":
    main()
