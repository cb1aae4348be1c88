"""`folio search`: passages for a question, without the language model."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from folio.cli.context import echo_json, services, services_with_engine

if TYPE_CHECKING:
    from generation.expansion import Expansion
    from retrieval.passages import Passage, SearchResult


@click.command()
@click.argument("query")
@click.option("--collection", "-c", default="default", show_default=True, help="Where to search.")
@click.option("--top-k", "-k", type=click.IntRange(1, 1000), help="Most passages to print; the setting by default.")
@click.option("--document", "documents", multiple=True, help="Only in this document id; may be repeated.")
@click.option("--media-type", "media_types", multiple=True, help="Only this media type; may be repeated.")
@click.option("--language", "languages", multiple=True, help="Only documents in this language; may be repeated.")
@click.option("--tag", "tags", multiple=True, help="Only documents with this tag; may be repeated.")
@click.option("--also", multiple=True, help="A further query for the same question; may be repeated.")
@click.option(
    "--expand",
    type=click.Choice(["parts", "queries", "hyde"]),
    help="Let the language model split the question, word it in other ways, or guess a passage to search for.",
)
@click.option("--section", is_flag=True, help="Widen each passage to the section it stands in.")
@click.option("--explain", is_flag=True, help="Show each leg's rank and score and the weights of the fusion.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def search(
    query: str,
    collection: str,
    top_k: int | None,
    documents: tuple[str, ...],
    media_types: tuple[str, ...],
    languages: tuple[str, ...],
    tags: tuple[str, ...],
    also: tuple[str, ...],
    expand: "Expansion | None",
    section: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Search passages for QUERY."""
    from retrieval.passages import Filters

    filters = Filters(document_ids=documents, media_types=media_types, languages=languages, tags=tags)
    also = (*also, *_expanded(query, expand))
    parts = services()
    try:
        result = parts.searcher.search(
            query,
            also=also,
            collection=collection,
            top_k=top_k,
            filters=filters,
            context="section" if section else "passage",
        )
    finally:
        parts.close()
    if as_json:
        echo_json(asdict(result))
        return
    for passage in result:
        _print(passage, explain)
    if explain:
        for further in also:
            click.echo(f"\nAlso searched for: {further}", nl=False)
        _print_summary(result)
    if not len(result):
        click.echo("Nothing found.")


def _expanded(query: str, how: "Expansion | None") -> tuple[str, ...]:
    if how is None:
        return ()
    from generation.expansion import expand

    with services_with_engine() as parts:
        try:
            return expand(parts.engine, query, how)
        finally:
            parts.close()


def _print(passage: "Passage", explain: bool) -> None:
    page = f", page {passage.page_start}" if passage.page_start else ""
    path = " > ".join((passage.title or passage.uri, *passage.heading_path))
    click.echo(click.style(f"{passage.rank}. {path}{page}", bold=True) + f"  [{passage.score:.3f}]")
    if explain:
        s = passage.scores
        click.echo(
            f"   dense: {_place(s.dense_rank, s.dense_score)}  lexical: {_place(s.lexical_rank, s.lexical_score)}  "
            f"terms covered: {s.term_coverage:.0%}  fused: {s.fused_score:.3f}"
            + (f"  rerank: {s.rerank_score:.3f}" if s.rerank_score is not None else "")
        )
    click.echo(click.wrap_text(passage.text, width=100, initial_indent="   ", subsequent_indent="   "))


def _place(rank: int | None, score: float | None) -> str:
    return f"rank {rank or '-'} ({score or 0:.3f})"


def _print_summary(result: "SearchResult") -> None:
    t = result.timing
    weights = ", ".join(f"{leg} {share:.2f}" for leg, share in result.weights.items())
    click.echo(f"\nQuestion's language: {result.language}; weights: {weights}; index: {result.generation}")
    click.echo(
        f"{t.total_ms:.0f} ms: embedding {t.embed_ms:.0f}, dense {t.dense_ms:.0f}, lexical {t.lexical_ms:.0f}, "
        f"fusion and passages {t.fuse_ms:.0f}, reranking {t.rerank_ms:.0f}"
    )
