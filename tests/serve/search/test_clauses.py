"""A long query is searched in its clauses too, and encoded by those that say most."""

from xkg.embeddings.base import Passage
from xkg.serve.search.clauses import ENCODED_PIECES, MOST_PARTS, parts, passage, pieces, weightiest

LONG = (
    "Standardise the frames with running statistics, then clip them, and divide the bonus by a running spread "
    "estimate of its sum. Repeat until it converges on every level of the game."
)


def test_a_long_query_is_also_searched_in_its_parts() -> None:
    short = "cut the dough, then bake it"
    assert parts(short) == []
    long = (
        "I want to build a bakery at home. Keep the crust soft while the loaf rises in the oven, cut the dough with a "
        "blade before baking, and calm the bees that come for the sugar on the window sill."
    )
    assert "cut the dough with a blade before baking" in parts(long)
    assert len(parts(". ".join(f"then wait for {n} more hours" for n in range(30)))) == MOST_PARTS


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


def test_a_clause_that_is_long_must_weigh_more() -> None:
    name, short, long = "the name", "small" + " word" * 19, "big" + " word" * (ENCODED_PIECES - 10)
    assert weightiest([name, long, short], {long: 2.0, short: 1.5}.__getitem__) == [name, short]


def test_a_first_clause_that_is_too_long_stands_alone() -> None:
    endless = "word " * (2 * ENCODED_PIECES)
    assert weightiest([endless, "and another one"], lambda _: 1.0) == [endless]
