"""A question in, ranked passages out: dense index, lexical index, fusion, reranking, evaluation."""
