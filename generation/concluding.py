"""From a finished draft to the answer as users see it, and to its receipt."""

import uuid
from collections.abc import Callable
from dataclasses import asdict

from generation.answer import Answer, Citation, NearestPassage, Timing, Usage
from generation.draft import Draft
from generation.engine import TokenLogprob
from generation.making import Making
from generation.prompt import NumberedPassage, Prompt
from generation.receipts import PassageScores, PromptMessage, Receipt, TokenProbability
from generation.refusal import Decision
from generation.refusal_text import refusal_text


def conclude(making: Making, *, refused: bool, model: str, conversation_id: str) -> Answer:
    """The answer, or the refusal in its place."""
    draft = None if refused else making.draft
    searched = [item.passage for item in making.numbered]
    text = draft.text if draft else refusal_text(making.language, making.request.collection, searched)
    total_ms = making.elapsed_ms()
    shown = making.request.thinking == "show" and making.thinking
    return Answer(
        answer_id=uuid.uuid4().hex,
        conversation_id=conversation_id,
        question=making.request.question,
        collection=making.request.collection,
        language=making.language,
        answer=text,
        refused=draft is None,
        citations=_citations(draft, making.numbered) if draft else [],
        sentences=[item.sentence for item in draft.checked] if draft else [],
        passages=[shown_passage(item) for item in sorted(making.numbered, key=lambda item: item.passage.rank)],
        thinking=making.thinking if shown else None,
        usage=Usage(
            prompt_tokens=making.usage.prompt_tokens,
            cached_tokens=making.usage.cached_tokens,
            completion_tokens=making.usage.completion_tokens,
            thinking_tokens=making.usage.thinking_tokens or making.thinking_pieces,
        ),
        timing=Timing(
            retrieval_ms=making.retrieval_ms,
            queue_ms=making.queue_ms + making.usage.queue_ms,
            ttft_ms=making.ttft_ms or total_ms,
            total_ms=total_ms,
        ),
        model=model,
    )


def write_receipt(making: Making, answer: Answer, decision: Decision, *, count: Callable[[str], int]) -> Receipt:
    """All that shaped the answer; `count` gives the tokens of a text."""
    prompt, found = making.prompt, making.found
    return Receipt(
        answer=answer,
        owner=making.request.owner,
        collection=making.request.collection,
        search_query=making.search_query,
        index_generation=found.generation if found else "",
        weights=dict(found.weights) if found else {},
        passages=[_scores(item) for item in (prompt.passages if prompt else ())],
        prompt=[PromptMessage(role=m.role, content=m.content) for m in (prompt.messages if prompt else ())],
        prompt_tokens_by_part=_parts(prompt, count) if prompt else {},
        dropped_passages=prompt.dropped_passages if prompt else 0,
        dropped_turns=prompt.dropped_turns if prompt else 0,
        sampling=making.request.sampling,
        max_tokens=prompt.max_tokens if prompt else 0,
        raw=making.raw,
        finish_reason=making.finish_reason,
        refusal_probability=decision.probability,
        refusal_threshold=decision.threshold,
        signals=decision.signals.as_dict(),
        logprobs=[_probability(entry) for entry in making.logprobs] if making.request.logprobs else [],
        steps=making.steps,
    )


def shown_passage(item: NumberedPassage) -> NearestPassage:
    """A passage as readers see it."""
    p = item.passage
    return NearestPassage(
        n=item.n,
        document_id=p.document_id,
        title=p.title,
        uri=p.uri,
        media_type=p.media_type,
        page=p.page_start,
        start=p.start,
        end=p.end,
        text=p.text,
        heading_path=list(p.heading_path),
        score=p.score,
    )


def _parts(prompt: Prompt, count: Callable[[str], int]) -> dict[str, int]:
    """Tokens of each part of the prompt; the template's and the fences' are what remains."""
    parts = {
        "instruction": count(prompt.messages[0].content),
        "passages": sum(count(item.passage.text) for item in prompt.passages),
        "history": sum(count(turn.question) + count(turn.answer) for turn in prompt.history),
        "question": count(prompt.messages[-1].content.rpartition("Question: ")[2]),
    }
    return {**parts, "template": prompt.prompt_tokens - sum(parts.values())}


def _citations(draft: Draft, numbered: tuple[NumberedPassage, ...]) -> list[Citation]:
    """One citation a passage: the smallest span that holds everything the answer takes from it."""
    passages = {item.n: item.passage for item in numbered}
    spans: dict[int, tuple[int, int]] = {}
    for checked in draft.checked:
        for evidence in checked.verdict.evidence:
            start, end = spans.get(evidence.n, (evidence.span.start, evidence.span.end))
            spans[evidence.n] = (min(start, evidence.span.start), max(end, evidence.span.end))
    return [
        Citation(
            n=n,
            document_id=passages[n].document_id,
            document_version=passages[n].document_version,
            title=passages[n].title,
            uri=passages[n].uri,
            media_type=passages[n].media_type,
            page=passages[n].page_at(start),
            start=start,
            end=end,
            quote=passages[n].text[start - passages[n].start : end - passages[n].start],
            score=passages[n].score,
            passage_start=passages[n].start,
            passage_end=passages[n].end,
        )
        for n, (start, end) in sorted(spans.items())
    ]


def _scores(item: NumberedPassage) -> PassageScores:
    p = item.passage
    return PassageScores(
        n=item.n,
        rank=p.rank,
        document_id=p.document_id,
        document_version=p.document_version,
        start=p.start,
        end=p.end,
        chunk_ids=list(p.chunk_ids),
        score=p.score,
        scores=asdict(p.scores),
    )


def _probability(entry: TokenLogprob) -> TokenProbability:
    return TokenProbability(
        token=entry.token, logprob=entry.logprob, alternatives={a.token: a.logprob for a in entry.alternatives}
    )
