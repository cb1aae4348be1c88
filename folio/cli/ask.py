"""`folio ask`: a question in, the cited answer out."""

from typing import TYPE_CHECKING

import click

from folio.cli.context import echo_json, services_with_engine

if TYPE_CHECKING:
    from generation.answer import Answer, AskRequest
    from generation.answering import Answerer


@click.command()
@click.argument("question")
@click.option("--collection", "-c", default="default", show_default=True, help="Where to look.")
@click.option("--top-k", "-k", type=click.IntRange(1, 50), help="Passages given to the model; the setting by default.")
@click.option("--conversation", help="Go on with this conversation.")
@click.option("--thinking", is_flag=True, help="Show the reasoning of a reasoning model.")
@click.option("--agent", is_flag=True, help="Let the model search and read by itself first.")
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.0, show_default=True, help="0: likeliest token.")
@click.option("--seed", type=int, help="Seed for drawing tokens.")
@click.option("--max-tokens", type=click.IntRange(1, 8192), help="Most tokens of the answer.")
@click.option("--logprobs", is_flag=True, help="Keep each token's probability in the receipt.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ask(
    question: str,
    collection: str,
    top_k: int | None,
    conversation: str | None,
    thinking: bool,
    agent: bool,
    temperature: float,
    seed: int | None,
    max_tokens: int | None,
    logprobs: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION from the documents, with citations."""
    from generation.answer import AskRequest, Sampling

    request = AskRequest(
        question=question,
        collection=collection,
        conversation_id=conversation,
        top_k=top_k,
        sampling=Sampling(temperature=temperature, seed=seed, max_tokens=max_tokens),
        thinking="show" if thinking else "hide",
        mode="agent" if agent else "answer",
        logprobs=logprobs,
    )
    with services_with_engine() as parts:
        try:
            if as_json:
                echo_json(parts.answerer.ask(request))
            else:
                _print(_stream(parts.answerer, request))
        finally:
            parts.close()


def _stream(answerer: "Answerer", request: "AskRequest") -> "Answer":
    """Print the answer while it is made; the finished one is returned."""
    from folio.errors import FolioError
    from generation.events import Done, Failed, Thinking, Token

    written = ""
    for event in answerer.stream(request):
        if isinstance(event, Thinking):
            click.echo(click.style(event.text, dim=True), nl=False)
        elif isinstance(event, Token):
            written += event.text
            click.echo(event.text, nl=False)
        elif isinstance(event, Failed):
            click.echo()
            raise event.error
        elif isinstance(event, Done):
            if event.answer.answer != written:
                click.echo(("\n\n" if written else "") + event.answer.answer, nl=False)
            click.echo()
            return event.answer
    raise FolioError("The answer ended before it was done.")


def _print(answer: "Answer") -> None:
    for sentence in answer.sentences:
        if not sentence.supported:
            click.echo(click.style(f"Not supported ({sentence.reason}): {sentence.text}", fg="yellow"))
    for citation in answer.citations:
        page = f", page {citation.page}" if citation.page else ""
        click.echo(
            f"\n[{citation.n}] {citation.title or citation.uri}{page}, characters {citation.start}-{citation.end}"
        )
        click.echo(click.wrap_text(citation.quote, width=100, initial_indent="    ", subsequent_indent="    "))
    if answer.refused:
        for passage in answer.passages:
            click.echo(f"  {passage.title or passage.uri}: {' '.join(passage.text.split())[:100]}…")
    click.echo(
        f"\n{answer.usage.prompt_tokens} prompt tokens ({answer.usage.cached_tokens} cached), "
        f"{answer.usage.completion_tokens} written; first word after {answer.timing.ttft_ms / 1000:.1f} s; "
        f"conversation {answer.conversation_id}; receipt {answer.answer_id}"
    )
