"""Every reason a file may fail for is explained to users."""

from pathlib import Path

import pytest

from ingest import reasons

DOCS = Path(__file__).parents[2] / "docs" / "ingestion.md"


@pytest.mark.parametrize("code", sorted(reasons.MEANINGS))
def test_every_reason_code_stands_in_the_docs(code):
    assert f"`{code}`" in DOCS.read_text("utf-8")


def test_only_known_reasons_are_tried_again():
    assert set(reasons.MEANINGS) >= reasons.RETRYABLE
