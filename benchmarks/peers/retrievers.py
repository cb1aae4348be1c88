"""One peer's hybrid retriever over the texts and vectors that `retrieval_peers.py` wrote, in the peers' environment.

    python benchmarks/peers/retrievers.py PEER FOLDER     # reads the folder's files, writes PEER.json there

Every peer gets the same chunks with the same vectors, and looks questions' vectors up instead of computing them, so
what is timed is retrieval alone. Settings are those of each project's own documentation for hybrid retrieval; only the
number of results is set, to `TOP` for each leg and for the fusion.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

TOP = 50

Retrieve = Callable[[str], list[int]]  # a question in, positions of chunks out, best first
Lookup = dict[str, np.ndarray]


def langchain(texts: list[str], vectors: np.ndarray, known: Lookup) -> Retrieve:
    """EnsembleRetriever of BM25Retriever and FAISS, equal weights."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS
    from langchain_core.embeddings import Embeddings

    class Known(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return known[text].tolist()

    places = [{"place": place} for place in range(len(texts))]
    lexical = BM25Retriever.from_texts(texts, metadatas=places, k=TOP)
    dense = FAISS.from_embeddings(zip(texts, vectors.tolist(), strict=True), Known(), metadatas=places)
    both = EnsembleRetriever(retrievers=[lexical, dense.as_retriever(search_kwargs={"k": TOP})])
    return lambda question: [found.metadata["place"] for found in both.invoke(question)]


def llamaindex(texts: list[str], vectors: np.ndarray, known: Lookup) -> Retrieve:
    """QueryFusionRetriever of the vector index and BM25Retriever by reciprocal ranks, without made-up queries."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    class Known(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return known[query].tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_query_embedding(text)

    pairs = enumerate(zip(texts, vectors, strict=True))
    nodes = [TextNode(id_=str(place), text=text, embedding=vector.tolist()) for place, (text, vector) in pairs]
    dense = VectorStoreIndex(nodes, embed_model=Known()).as_retriever(similarity_top_k=TOP)
    lexical = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=TOP)
    both = QueryFusionRetriever(
        [dense, lexical], llm=MockLLM(), mode="reciprocal_rerank", num_queries=1, similarity_top_k=TOP, use_async=False
    )
    return lambda question: [int(found.node.node_id) for found in both.retrieve(question)]


def haystack(texts: list[str], vectors: np.ndarray, known: Lookup) -> Retrieve:
    """In-memory BM25 and embedding retrievers, joined by DocumentJoiner's reciprocal rank fusion."""
    from haystack import Document
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    pairs = enumerate(zip(texts, vectors, strict=True))
    store.write_documents(
        [Document(id=str(place), content=text, embedding=vector.tolist()) for place, (text, vector) in pairs]
    )
    lexical, dense = InMemoryBM25Retriever(store, top_k=TOP), InMemoryEmbeddingRetriever(store, top_k=TOP)
    joiner = DocumentJoiner("reciprocal_rank_fusion")

    def retrieve(question: str) -> list[int]:
        found = [
            lexical.run(query=question)["documents"],
            dense.run(query_embedding=known[question].tolist())["documents"],
        ]
        return [int(document.id) for document in joiner.run(documents=found)["documents"]]

    return retrieve


def txtai(texts: list[str], vectors: np.ndarray, known: Lookup) -> Retrieve:
    """Embeddings with `hybrid=True`."""
    from txtai import Embeddings

    both = dict(zip(texts, vectors, strict=True)) | known
    index = Embeddings(
        method="external", transform=lambda wanted: np.stack([both[text] for text in wanted]), hybrid=True
    )
    index.index(list(enumerate(texts)))
    return lambda question: [int(place) for place, _ in index.search(question, TOP)]


PEERS = {"langchain": langchain, "llamaindex": llamaindex, "haystack": haystack, "txtai": txtai}


def main() -> None:
    """Retrieve for every question and write what was found and how long it took."""
    peer, folder = sys.argv[1], Path(sys.argv[2])
    texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    known = dict(zip(questions, np.load(folder / "question-vectors.npy"), strict=True))
    retrieve = PEERS[peer](texts, np.load(folder / "vectors.npy"), known)
    retrieve(questions[0])
    found, milliseconds = [], []
    for question in questions:
        started = time.perf_counter()
        found.append(retrieve(question))
        milliseconds.append((time.perf_counter() - started) * 1000)
    (folder / f"{peer}.json").write_text(json.dumps({"found": found, "ms": milliseconds}), encoding="utf-8")


if __name__ == "__main__":
    main()
