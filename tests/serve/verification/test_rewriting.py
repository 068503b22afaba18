"""Rows for a query and for its phrasings."""

import pytest

from xkg.serve.verification.rewriting import MOST_PHRASINGS, objection


@pytest.mark.parametrize(
    ("phrasings", "wrong"),
    [([], "give 1 to"), ([" "], "has 1 to"), (["x" * 601], "has 1 to"), (["x"] * (MOST_PHRASINGS + 1), "give 1 to")],
)
def test_phrasings_that_cannot_be_used_are_refused(phrasings: list[str], wrong: str) -> None:
    assert wrong in str(objection(phrasings))
    assert objection(["Layer normalization: …", "x"]) is None
