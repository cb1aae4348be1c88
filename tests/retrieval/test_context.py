"""What is put before the language model: no repeats, few passages a document, sections on request."""

import pytest
from sqlalchemy import update

from folio.catalog.models import Chunk
from retrieval.duplicates import Wording

LONG = " ".join(f"The valve of pump {chr(97 + n)} opens when the {'r' * (n + 3)} gauge is high." for n in range(20))
LEAVE = "Every employee has thirty days of paid leave a year, to be taken before the end of March of the next."


def test_the_same_text_in_several_documents_fills_one_passage_only(library, searcher):
    for number in range(30):
        library.put(f"copy{number}.txt", LEAVE.upper() if number % 2 else f"{LEAVE}\n")
    library.put("sick.txt", "Sick leave is paid for six weeks.")
    passages = searcher.search("How many days of leave does an employee have?", top_k=3).passages
    assert len([p for p in passages if "thirty days" in p.text.lower()]) == 1
    assert "sick.txt" in {p.uri for p in passages}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Error E-4012 means that the disk is full.", "Error E-4013 means that the disk is full.", False),
        (f"{LONG} Then E-4012 is shown.", f"{LONG} Then E-4013 is shown.", False),
        (f"{LONG} Then it is shown.", f"{LONG} Then it is noted.", True),
        ("The price is 40 euros.", "The price is 55 euros.", False),
        ("Ｆｕｌｌ width, and  spaces", "full width and spaces.", True),
        ("员工每年有三十天带薪假期。", "员工每年有三十天带薪假期", True),
        ("员工每年有三十天带薪假期。", "员工每年有二十天带薪假期。", False),
        (LEAVE, LEAVE.replace("thirty", "twenty"), False),
        ("", "words", False),
    ],
)
def test_only_the_same_words_are_a_repeat(one, other, same):
    assert Wording.of(one).repeats(Wording.of(other)) is same


def test_a_document_gives_at_most_three_passages_unless_the_question_names_it(library, searcher):
    facts = [f"The {name} lives in rivers and eats fish of the river." for name in ("otter", "heron", "grebe", "mink")]
    for fact in facts[:1]:
        library.put("other.txt", fact.replace("otter", "pike"), title="Fishes")
    library.put("long.txt", *facts, title="River Animals")

    def from_long(question: str) -> int:
        found = searcher.search(question, top_k=5, merge_neighbours=False)
        return sum(p.uri == "long.txt" for p in found)

    assert from_long("What eats fish of the river?") == 3
    assert from_long("What eats fish, according to River Animals?") == 4


def test_a_section_is_the_passage_with_what_stands_under_the_same_headings(library, searcher):
    document = library.put("guide.txt", "About tea.", "Boil the water first.", "Wait four minutes.", "About coffee.")
    with library.catalog.write() as session:
        for ordinal, heading in enumerate(("Intro", "Tea", "Tea", "Coffee")):
            session.execute(
                update(Chunk)
                .where(Chunk.document_id == document, Chunk.ordinal == ordinal)
                .values(heading_path=[heading])
            )
    passage = searcher.search("boil water", top_k=1, merge_neighbours=False)[0]
    assert passage.text == "Boil the water first."
    section = searcher.search("boil water", top_k=1, merge_neighbours=False, context="section")[0]
    assert section.text == "Boil the water first.\n\nWait four minutes."
    assert len(section.chunk_ids) == 2
    whole = "About tea.\n\nBoil the water first.\n\nWait four minutes.\n\nAbout coffee."
    assert section.text == whole[section.start : section.end]


def test_two_passages_of_one_section_become_one(library, searcher):
    library.put("guide.txt", "Boil the water first.", "Then pour the water.", "Wait while the water cools.")
    found = searcher.search("water", top_k=3, merge_neighbours=False, context="section").passages
    assert len(found) == 1
    assert len(found[0].chunk_ids) == 3
