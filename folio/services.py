"""The composition root: one function that builds every part from the settings and wires them together.

The web server, the worker, the command line, benchmarks and tests all start here. Building is cheap: models are
loaded, and the engine is reached, at their first use. The parts themselves never import this module.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from folio.catalog import Catalog
from folio.settings import Settings

if TYPE_CHECKING:
    from generation.answering import Answerer
    from generation.conversations import Conversations
    from generation.engine import Engine
    from generation.feedback import FeedbackStore
    from generation.receipts import Receipts
    from ingest.documents import Documents
    from ingest.service import Ingestion
    from retrieval.collections import Collections
    from retrieval.embedder import Embedder
    from retrieval.generations import Generations
    from retrieval.rerank import Reranker
    from retrieval.search import Searcher


@dataclass(frozen=True)
class Services:
    """Every part of one Folio, ready to use."""

    settings: Settings
    catalog: Catalog
    embedder: "Embedder"
    collections: "Collections"
    searcher: "Searcher"
    generations: "Generations"
    ingestion: "Ingestion"
    documents: "Documents"
    engine: "Engine"
    answerer: "Answerer"
    conversations: "Conversations"
    receipts: "Receipts"
    feedback: "FeedbackStore"

    def close(self) -> None:
        """Let go of indexes and connections."""
        self.engine.close()
        self.searcher.close()
        self.ingestion.close()
        self.catalog.dispose()


def build_embedder(settings: Settings) -> "Embedder":
    """The embedding model of the settings, not yet loaded.

    Raises:
        ModelMissing: it is not on this machine.
    """
    from folio.models.resolve import resolve_embedder
    from retrieval.embedder import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(
        settings.embedding_model,
        resolve_embedder(settings),
        device=settings.embedding_device,
        batch_size=settings.embedding_batch_size,
        dimension=settings.embedding_dimension,
        dtype=settings.embedding_dtype,
        query_prompt=settings.embedding_query_prompt,
        document_prompt=settings.embedding_document_prompt,
    )


def build_reranker(settings: Settings) -> "Reranker | None":
    """The reranking model of the settings, not yet loaded; None when there is none."""
    from retrieval.rerank import CrossEncoderReranker

    if not settings.reranker:
        return None
    return CrossEncoderReranker(settings.reranker, device=settings.embedding_device)


def build_engine(settings: Settings) -> "Engine":
    """The engine of the settings, or that of a running `folio serve`; reached at its first use."""
    from generation.pool import VllmEngine
    from generation.vllm_server import engine_problem, known_engine_urls

    return VllmEngine(
        known_engine_urls(settings),
        api_key=settings.engine_api_key.get_secret_value(),
        idle_timeout_s=settings.engine_idle_timeout_s,
        explain=lambda: engine_problem(settings),
    )


def build_services(
    settings: Settings, *, embedder: "Embedder | None" = None, engine: "Engine | None" = None
) -> Services:
    """Build every part; the catalog's schema is brought up to date first.

    Args:
        embedder: one already loaded, to share; by default that of the settings.
        engine: one already reached, to share; by default that of the settings.

    Raises:
        ConfigurationError: the catalog can't be opened.
        ModelMissing: the embedding model is not on this machine.
    """
    from generation.answering import Answerer
    from generation.conversations import Conversations
    from generation.feedback import FeedbackStore
    from generation.receipts import Receipts
    from ingest.documents import Documents
    from ingest.service import Ingestion
    from retrieval.collections import Collections
    from retrieval.generations import Generations
    from retrieval.search import Searcher

    if settings.trace_endpoint:
        from folio.tracing import send_traces

        send_traces(settings.trace_endpoint)
    catalog = Catalog(settings.catalog_url)
    catalog.migrate()
    embedder = embedder or build_embedder(settings)
    collections = Collections(catalog, embedder)
    searcher = Searcher(catalog, embedder, settings, build_reranker(settings))
    engine = engine or build_engine(settings)
    return Services(
        settings=settings,
        catalog=catalog,
        embedder=embedder,
        collections=collections,
        searcher=searcher,
        generations=Generations(catalog, settings, embedder),
        ingestion=Ingestion(catalog, settings, collections),
        documents=Documents(catalog, settings, searcher),
        engine=engine,
        answerer=Answerer(catalog, searcher, engine, settings),
        conversations=Conversations(catalog),
        receipts=Receipts(catalog),
        feedback=FeedbackStore(catalog),
    )
