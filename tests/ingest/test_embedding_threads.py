"""Counting tokens in one thread never disturbs embedding in another."""

import threading
from concurrent.futures import ThreadPoolExecutor

TEXTS = ["short", "a somewhat longer text about kettles and zebras " * 4, "middle sized text"]


def test_tokens_are_counted_while_another_thread_embeds(embedder):
    done = threading.Event()

    def count():
        while not done.is_set():
            embedder.count_tokens(TEXTS)

    with ThreadPoolExecutor(1) as pool:
        counting = pool.submit(count)
        try:
            for _ in range(60):
                assert embedder.embed_documents(TEXTS).shape == (3, embedder.dimension)
        finally:
            done.set()
        counting.result()
