"""A long query is searched in its clauses too, and encoded by those that say most."""

from xkg.embeddings.base import Passage
from xkg.serve.search.candidates import ENCODED_PIECES, parts, passage, pieces

LONG = (
    "Standardise the frames with running statistics, then clip them, and divide the bonus by a running spread "
    "estimate of its sum. Repeat until it converges on every level of the game."
)


def test_what_is_encoded_is_bounded() -> None:
    clauses = parts(LONG)
    endless = passage(f"{LONG} {'and so on, ' * 500}", clauses, clauses)
    assert isinstance(endless, Passage)
    assert sum(map(pieces, endless.segments)) <= ENCODED_PIECES
