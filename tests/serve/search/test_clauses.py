"""A long query is searched in its clauses too, and encoded by those that say most."""

from xkg.embeddings.base import Passage
from xkg.serve.search.clauses import ENCODED_PIECES, parts, passage, pieces, weightiest

LONG = (
    "Standardise the frames with running statistics, then clip them, and divide the bonus by a running spread "
    "estimate of its sum. Repeat until it converges on every level of the game."
)


def test_a_long_query_is_encoded_by_its_clauses_and_what_is_left_beside_them() -> None:
    short = "money held by a bank"
    assert passage(short, parts(short), []) == short
    clauses = parts(LONG)
    whole = passage(LONG, clauses, clauses)
    assert isinstance(whole, Passage)
    assert whole == LONG
    assert len(clauses) == 3
    assert whole.segments == (*clauses, "clip them")


def test_what_is_encoded_is_bounded() -> None:
    clauses = parts(LONG)
    endless = passage(f"{LONG} {'and so on, ' * 500}", clauses, clauses)
    assert isinstance(endless, Passage)
    assert sum(map(pieces, endless.segments)) <= ENCODED_PIECES


def test_of_too_many_clauses_the_name_and_those_that_weigh_most_are_encoded_in_their_order() -> None:
    few = ["a name", "one clause", "another clause"]
    assert weightiest(few, lambda _: 0.0) == few
    size = ENCODED_PIECES // 3
    padding = " word" * (size - 1)
    many = [f"{name}{padding}" for name in ("name", "dull", "rare", "rarer", "plain")]
    weights = dict(zip(many, (0.0, 1.0, 3.0, 4.0, 2.0), strict=True))
    assert weightiest(many, weights.__getitem__) == [many[0], many[2], many[3]]
    assert sum(map(pieces, weightiest(many, weights.__getitem__))) <= ENCODED_PIECES
