"""The embedder reads prompts, length and dimension from the model; batches change no vector; vectors can be cut."""

import numpy as np
import pytest

from folio.errors import ConfigurationError
from retrieval.embedder import SentenceTransformerEmbedder, length_sorted_batches

TEXTS = ["kettle", "The kettle boils at a hundred degrees. " * 5, "水壶烧开了。", "tea"] * 20


@pytest.fixture(scope="module")
def tiny(tiny_model):
    return SentenceTransformerEmbedder("tiny", tiny_model, dtype="float32", batch_size=4)


def test_dimension_and_length_are_the_models_own_less_its_prompt(tiny):
    assert tiny.dimension == 32
    assert tiny.embed_documents(TEXTS).shape == (80, 32)
    assert tiny.max_tokens == 64 - len(["passage", ":"])


def test_query_and_passage_prompts_are_honoured(tiny):
    model = tiny.load()
    query = model.encode("query: tea", prompt="", normalize_embeddings=True)
    passage = model.encode("passage: tea", prompt="", normalize_embeddings=True)
    assert np.allclose(tiny.embed_query("tea"), query, atol=1e-5)
    assert np.allclose(tiny.embed_documents(["tea"])[0], passage, atol=1e-5)
    assert not np.allclose(query, passage, atol=1e-3)


def test_each_text_gets_its_own_vector_whatever_batch_it_was_in(tiny):
    together = tiny.embed_documents(TEXTS)
    alone = np.stack([tiny.embed_documents([text])[0] for text in TEXTS[:4]])
    assert np.allclose(together, np.tile(alone, (20, 1)), atol=1e-5)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_batches_hold_every_text_once_and_lengths_that_are_near():
    texts = ["x" * length for length in (5, 900, 10, 880, 7, 3, 870, 910)]
    batches = length_sorted_batches(texts, 2)
    assert sorted(place for batch in batches for place in batch) == list(range(8))
    assert batches[0] == [7, 1]
    assert len(batches[-1]) == 4  # short ones go together


def test_vectors_can_be_cut_and_a_cut_model_is_another_model(tiny, tiny_model):
    cut = SentenceTransformerEmbedder("tiny", tiny_model, dtype="float32", dimension=8)
    assert cut.dimension == 8
    whole, short = tiny.embed_query("tea"), cut.embed_query("tea")
    assert np.allclose(short, whole[:8] / np.linalg.norm(whole[:8]), atol=1e-5)
    assert cut.fingerprint != tiny.fingerprint


def test_more_components_than_there_are_is_said_at_once(tiny_model):
    with pytest.raises(ConfigurationError, match="FOLIO_EMBEDDING_DIMENSION"):
        SentenceTransformerEmbedder("tiny", tiny_model, dimension=64).load()


def test_tokens_are_those_of_the_models_own_tokenizer(embedder):
    own = embedder.load().tokenizer
    for text in ("The kettle boils.", "水壶烧开了。", "", "E-4012 foo_bar"):
        assert embedder.count_tokens([text]) == [len(own(text, add_special_tokens=False)["input_ids"])]


def test_prompts_of_the_settings_go_before_the_models_own(tiny, tiny_model):
    told = SentenceTransformerEmbedder("tiny", tiny_model, dtype="float32", query_prompt="Find: ")
    expected = tiny.load().encode("Find: tea", prompt="", normalize_embeddings=True)
    assert np.allclose(told.embed_query("tea"), expected, atol=1e-5)
    assert told.fingerprint != tiny.fingerprint
