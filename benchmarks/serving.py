"""Eight askers at once: tokens a second through Folio against the same prompts sent straight to the same vLLM, and the
time to first token of a second question over the same passages against that of the first.

Folio and the bare engine take turns (Folio, engine, engine, Folio), each turn with eight questions and a prefix cache
of its own, so that both compute every prompt anew. Tokens are those read and those written.

    python benchmarks/serving.py [--quick]
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sample_folio import (
    Measured,
    SampleFolio,
    ask_engine,
    ask_folio,
    messages_of,
    new_salt,
    prompt_for,
    prompt_of,
    sample_folio,
    sample_questions,
    say,
)

from generation.rewriting import needs_context

ASKERS = 8
QUICK_TOP_K = 3
NOTHING_MEASURED = "No second question met the same passages."


@dataclass(frozen=True)
class Turn:
    """Eight questions asked at once."""

    seconds: float
    tokens: int
    completion_tokens: int


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one turn each, with fewer passages")
    quick = parser.parse_args().quick
    more = {"top_k": QUICK_TOP_K} if quick else {}
    english, chinese = sample_questions("en"), sample_questions("zh")
    rounds = [english[:5] + chinese[:3], english[5:8] + chinese[3:8]][: 1 if quick else 2]
    with sample_folio() as folio:
        say("warming up")
        ask_folio(folio, "Is anybody there?")
        ask_engine(folio, prompt_for(folio, "Is anybody there?", top_k=1), new_salt())
        pairs = [
            _pair(folio, questions, folio_first=number % 2 == 0, **more) for number, questions in enumerate(rounds)
        ]
        say("a second question over the same passages")
        whole = [question for question in english[8:] if not needs_context(question)]
        seconds = [_again(folio, question, **more) for question in whole[: 3 if quick else 6]]
    shares = [share for share in seconds if share is not None]
    if not shares:
        raise SystemExit(NOTHING_MEASURED)
    through, direct = _rate([pair[0] for pair in pairs]), _rate([pair[1] for pair in pairs])
    ratios = sorted(_rate([a]) / _rate([b]) for a, b in pairs)
    print(
        json.dumps(
            {
                "benchmark": "serving",
                "ratio": round(through / direct, 3),
                "baseline": f"the same prompts straight to the same vLLM, {ASKERS} at a time",
                "median": {"folio_tokens_per_s": round(through, 1), "engine_tokens_per_s": round(direct, 1)},
                "spread": [round(ratios[0], 3), round(ratios[-1], 3)],
                "completion_tokens": {
                    "folio": sum(pair[0].completion_tokens for pair in pairs),
                    "engine": sum(pair[1].completion_tokens for pair in pairs),
                },
                "second_question_ttft_ratio": round(statistics.median(shares), 3),
                "second_question_n": len(shares),
                "n": len(pairs) * ASKERS,
            }
        )
    )


def _pair(folio: SampleFolio, questions: Sequence[str], *, folio_first: bool, **more: object) -> tuple[Turn, Turn]:
    """The same questions through Folio and, as the prompts that Folio makes of them, straight to the engine."""
    prompts = {question: prompt_for(folio, question, **more) for question in questions}
    answers: list[Measured] = []

    def through() -> Turn:
        folio.engine.salt = new_salt()
        turn, done = _turn(lambda question: ask_folio(folio, question, **more), questions)
        answers.extend(done)
        return turn

    def direct() -> Turn:
        salt = new_salt()
        return _turn(lambda question: ask_engine(folio, prompts[question], salt), questions)[0]

    if folio_first:
        pair = through(), direct()
    else:
        other = direct()
        pair = through(), other
    for question, answer in zip(questions, answers, strict=True):
        if prompt_of(folio, answer.done["answer_id"]) != messages_of(prompts[question]):
            raise SystemExit(f"Folio made another prompt than this benchmark: {question}")
    say(f"Folio {pair[0]}, engine {pair[1]}, ratio {_rate([pair[0]]) / _rate([pair[1]]):.3f}")
    return pair


def _turn(ask: Callable[[str], Measured], questions: Sequence[str]) -> tuple[Turn, list[Measured]]:
    began = time.perf_counter()
    with ThreadPoolExecutor(ASKERS) as pool:
        answers = list(pool.map(ask, questions))
    seconds = time.perf_counter() - began
    usages = [answer.done["usage"] for answer in answers]
    written = sum(usage["completion_tokens"] for usage in usages)
    return Turn(round(seconds, 2), written + sum(usage["prompt_tokens"] for usage in usages), written), answers


def _rate(turns: Sequence[Turn]) -> float:
    """Tokens a second over several turns."""
    return sum(turn.tokens for turn in turns) / sum(turn.seconds for turn in turns)


def _again(folio: SampleFolio, question: str, **more: object) -> float | None:
    """TTFT of the question asked again in the conversation, as a share of the first time's; None when it met other
    passages. Asked again, because other words find other passages.
    """
    folio.engine.salt = new_salt()
    first = ask_folio(folio, question, **more)
    second = ask_folio(folio, question, conversation_id=first.done["conversation_id"], **more)
    places = [{(p["document_id"], p["start"]) for p in one.done["passages"]} for one in (first, second)]
    if places[0] != places[1]:
        say(f"left out, other passages were found: {question}")
        return None
    usage = second.done["usage"]
    say(
        f"first {first.ttft_ms:.0f} ms, second {second.ttft_ms:.0f} ms, "
        f"{usage['cached_tokens']} of {usage['prompt_tokens']} prompt tokens cached: {question}"
    )
    return second.ttft_ms / first.ttft_ms


if __name__ == "__main__":
    main()
