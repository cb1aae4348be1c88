"""Generations: equal to the catalog, switched whole, rebuilt when damaged, and left alone when nothing changed."""

import shutil
import threading

import pytest
from sqlalchemy import select

from folio.catalog.models import Chunk, Collection, Document
from retrieval.generations import Generations


@pytest.fixture
def generations(library, settings):
    return Generations(library.catalog, settings)


def _folders(settings, library):
    return sorted(f for f in (settings.indexes_dir / library.info.id).iterdir() if not f.name.startswith("."))


def test_publishing_makes_index_and_catalog_equal_and_twice_is_no_work(library, generations):
    first = library.put("a.txt", "one", "two")
    assert generations.publish(library.info.id).chunks == 2
    assert generations.publish(library.info.id) is None
    library.put("b.txt", "three")
    library.remove(first)
    assert generations.publish(library.info.id).chunks == 1
    assert generations.verify(library.info.id) == []


def test_the_previous_generation_is_kept_and_older_ones_go(library, generations, settings):
    for number in range(4):
        library.put(f"{number}.txt", f"note {number}")
        generations.publish(library.info.id)
    assert len(_folders(settings, library)) == 2


@pytest.mark.parametrize("damage", ["truncated", "flipped", "manifest gone", "all gone"])
def test_a_damaged_index_is_rebuilt_without_embedding(library, generations, settings, open_searcher, damage):
    library.put("whale.txt", "Whales are mammals.")
    generations.publish(library.info.id)
    (folder,) = _folders(settings, library)
    vectors = folder / "dense" / "vectors.npy"
    if damage == "truncated":
        vectors.write_bytes(vectors.read_bytes()[:-10])
    elif damage == "flipped":
        content = bytearray(vectors.read_bytes())
        content[-1] ^= 0xFF
        vectors.write_bytes(content)
    elif damage == "manifest gone":
        (folder / "manifest.json").unlink()
    else:
        shutil.rmtree(folder)
    assert open_searcher().search("whales")[0].uri == "whale.txt"
    assert generations.verify(library.info.id) == []


def test_a_chunk_missing_from_the_index_is_reported(library, generations):
    library.put("a.txt", "one")
    generations.publish(library.info.id)
    with library.catalog.write() as session:  # a change that was not logged, as a fault would leave it
        document = session.scalar(select(Document))
        session.add(
            Chunk(
                collection_id=library.info.id, document_id=document.id, ordinal=9, start=0, end=3, text="one",
                token_count=1, embedded_sha256="", vector=session.scalar(select(Chunk.vector)),
            )
        )  # fmt: skip
    assert any("lacks 1 chunks" in line for line in generations.verify(library.info.id))
    generations.rebuild(library.info.id)
    assert generations.verify(library.info.id) == []


def test_readers_see_whole_documents_while_documents_change_and_generations_switch(library, generations, searcher):
    """Each version of the document says its number in both chunks; no search may see two numbers."""
    library.put("v.txt", "Edition 0 tells of whales.", "Whales swim, says edition 0.")
    searcher.search("whales")
    done, torn = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            texts = " ".join(p.text for p in searcher.search("whales edition", merge_neighbours=False))
            if len({word.strip(".") for word in texts.split() if word.strip(".").isdigit()}) != 1:
                torn.append(texts)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(1, 9):
        library.put("v.txt", f"Edition {number} tells of whales.", f"Whales swim, says edition {number}.")
        generations.publish(library.info.id)
    done.set()
    for reader in readers:
        reader.join()
    assert torn == []


def test_publishing_measures_the_legs_so_that_no_search_waits_for_it(library, settings):
    library.put("a.txt", "Whales swim in the sea and breathe air. They feed their calves with milk.")
    library.put("b.txt", "Bread is made of flour and water. Yeast makes it rise before it is baked.")
    Generations(library.catalog, settings, library.embedder).publish(library.info.id)
    with library.catalog.read() as session:
        kept = session.get(Collection, library.info.id).calibration
    assert kept["chunks"] == 2
    assert kept["languages"]["en"]["pairs"] == 2


def test_no_search_measures_while_a_collection_grows_until_the_next_generation(library, settings, searcher):
    def put(number: int) -> None:
        library.put(f"{number}.txt", f"Whale {number} swims in the sea. It feeds its calf with milk in bay {number}.")

    def measured() -> int:
        with library.catalog.read() as session:
            return session.get(Collection, library.info.id).calibration["chunks"]

    put(0)
    generations = Generations(library.catalog, settings, library.embedder)
    generations.publish(library.info.id)
    for number in range(1, 5):
        put(number)
    assert len(searcher.search("Which whale feeds its calf?", merge_neighbours=False).passages) > 1
    assert measured() == 1
    generations.publish(library.info.id)
    assert measured() == 5


def test_changes_that_no_generation_holds_are_known_until_they_are_published(library, generations):
    assert generations.behind() == []
    library.put("a.txt", "one")
    assert generations.behind() == [library.info.id]
    generations.publish(library.info.id)
    assert generations.behind() == []
