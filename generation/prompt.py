"""Passages, history and a question in, the chat for the model out, within the context window.

Parts stand in the order in which they repeat, so that the engine's prefix cache reuses them: instruction, passages,
history, question. Too much for the window: the oldest history goes first, then the weakest passages; the question is
never cut.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from folio.errors import QuestionTooLong
from generation.answer import NearestPassage, Turn
from generation.closest import LONGEST, closest_sentences
from generation.engine import Message
from generation.instruction import CLOSEST, instruction
from generation.language import question_language
from generation.neutral import neutralise
from generation.sentences import split_sentences
from retrieval.passages import Passage

MIN_ANSWER_TOKENS = 64


@dataclass(frozen=True)
class NumberedPassage:
    """A passage under the number that the model cites it by."""

    n: int
    passage: Passage


@dataclass(frozen=True)
class Prompt:
    """What the model gets. `dropped_*` say what did not fit."""

    messages: tuple[Message, ...]
    passages: tuple[NumberedPassage, ...]
    history: tuple[Turn, ...]
    prompt_tokens: int
    max_tokens: int
    dropped_passages: int = 0
    dropped_turns: int = 0


@dataclass(frozen=True)
class Window:
    """The room there is, in tokens: `context` for prompt and answer together, `margin` of it kept free."""

    context: int
    answer: int
    margin: int


def number(passages: Sequence[Passage]) -> tuple[NumberedPassage, ...]:
    """Numbers by place in the prompt: the strongest first, the second strongest last, where models attend most."""
    ordered = [passages[0], *passages[2:], passages[1]] if len(passages) > 2 else list(passages)
    return tuple(NumberedPassage(n, passage) for n, passage in enumerate(ordered, start=1))


def keep_places(passages: Sequence[Passage], before: Sequence[NearestPassage]) -> tuple[NumberedPassage, ...]:
    """Numbers that leave the passages of the conversation's last answer where they stood, so that the engine's prefix
    cache still holds them; where hardly any of them came again, everything is numbered afresh.
    """
    found = {(p.document_id, p.start, p.end): p for p in passages}
    places = [(p.document_id, p.start, p.end) for p in sorted(before, key=lambda p: p.n)]
    kept = list(itertools.takewhile(lambda place: place in found, places))
    if len(kept) < max(1, len(passages) / 2):
        return number(passages)
    ordered = [found[place] for place in kept] + [p for place, p in found.items() if place not in kept]
    return tuple(NumberedPassage(n, passage) for n, passage in enumerate(ordered, start=1))


def assemble(
    question: str,
    passages: Sequence[NumberedPassage],
    history: Sequence[Turn],
    window: Window,
    count: Callable[[Sequence[Message]], int],
    search_query: str = "",
) -> Prompt:
    """Fit everything into the window.

    Args:
        passages: in the order in which they stand in the prompt.
        history: oldest first.
        count: tokens of a chat by the model's own template and tokenizer.
        search_query: the question made whole, where it refers back.

    Raises:
        QuestionTooLong: the question alone leaves no room for an answer.
    """
    kept, turns = list(passages), list(history)
    answer = min(window.answer, window.context // 2)
    while True:
        messages = render(question, kept, turns, search_query)
        tokens = count(messages)
        room = window.context - window.margin - tokens
        if room >= answer or (room >= MIN_ANSWER_TOKENS and not turns and len(kept) <= 1):
            break
        if turns:
            del turns[: max(1, len(turns) // 2)]
        elif len(kept) > 1:
            kept.remove(max(kept, key=lambda item: item.passage.rank))
        elif kept and (shorter := _shortened(kept[0])) is not None:
            kept[0] = shorter
        else:
            raise QuestionTooLong(
                f"The question has about {tokens} tokens, and the model's context window holds {window.context}. "
                "Shorten the question, or put the long part into a document and ask about it."
            )
    return Prompt(
        messages=messages,
        passages=tuple(kept),
        history=tuple(turns),
        prompt_tokens=tokens,
        max_tokens=min(window.answer, room),
        dropped_passages=len(passages) - len(kept),
        dropped_turns=len(history) - len(turns),
    )


def render(
    question: str, passages: Sequence[NumberedPassage], history: Sequence[Turn], search_query: str = ""
) -> tuple[Message, ...]:
    """The chat. Passages open the first user turn, so that templates which alternate the roles strictly accept it.

    The first question's language chooses the instruction, so that a conversation keeps its beginning; the sentences
    closest to this question stand beside it, behind all that the next turn repeats.
    """
    asked = [turn.question for turn in history] + [question]
    texts = [f"Question: {neutralise(text)}" for text in asked]
    texts[-1] = "\n\n".join((*_pointed_out(search_query or question, passages), texts[-1]))
    sources = "\n\n".join(_fenced(item) for item in passages)
    texts[0] = f"{sources}\n\n{texts[0]}" if sources else texts[0]
    messages = [Message("system", instruction(question_language(asked[0])))]
    for text, turn in zip(texts, history, strict=False):
        messages += [Message("user", text), Message("assistant", neutralise(turn.answer))]
    return (*messages, Message("user", texts[-1]))


def _pointed_out(question: str, passages: Sequence[NumberedPassage]) -> list[str]:
    found = closest_sentences(question, [item.passage for item in passages])
    lines = [f"[{passages[sentence.index].n}] {neutralise(sentence.text[:LONGEST])}" for sentence in found]
    return ["\n".join((CLOSEST[question_language(question) == "zh"], *lines))] if lines else []


def _fenced(item: NumberedPassage) -> str:
    path = " > ".join(dict.fromkeys((item.passage.title, *item.passage.heading_path)))
    heading = f"[{item.n}] {neutralise(path)}".rstrip()
    return f"<source>\n{heading}\n{neutralise(item.passage.text)}\n</source>"


def _shortened(item: NumberedPassage) -> NumberedPassage | None:
    """The passage without its last half, cut between sentences; None when nothing more can go."""
    text = item.passage.text
    spans = split_sentences(text)
    end = spans[len(spans) // 2 - 1].end if len(spans) > 1 else len(text) // 2
    if end < 20:
        return None
    passage = replace(item.passage, text=text[:end], end=item.passage.start + end)
    return NumberedPassage(item.n, passage)
