from hypothesis import given
from hypothesis import strategies as st

from xkg.serve.search.grouping import MOST_RELATIVES, Group, above, apart, crowded_out, grouped


def rows(strength: dict[str, float], first: tuple[str, ...] = (), own: frozenset[str] = frozenset()) -> list[list[str]]:
    return [[group.lead, *group.relatives] for group in grouped(strength, first, own=own)]


def test_a_part_that_fits_about_as_well_stands_before_the_whole() -> None:
    assert rows({"p#m": 0.9, "p#m/a": 0.8, "p#m/b": 0.75, "p#m/c": 0.2}) == [
        ["p#m/a", "p#m"],
        ["p#m/b"],
        ["p#m/c"],
    ]


def test_a_technique_that_a_paper_has_twice_is_one_row_but_not_that_of_another_paper() -> None:
    assert rows({"p#m/a": 0.9, "p#a": 0.8, "q#a": 0.7}) == [["p#m/a", "p#a"], ["q#a"]]


def test_a_method_and_its_step_are_two_rows_where_they_answer_two_needs() -> None:
    whole = {"p#m": 0.9, "p#m/a": 0.8, "p#m/b": 0.5, "q#x": 0.3}
    own = apart([{"p#m": 0.9, "p#m/a": 0.2}, {"p#m/a": 0.9, "p#m": 0.2}])
    assert own == {"p#m", "p#m/a"}
    assert rows(whole, own=own) == [["p#m", "p#m/b"], ["p#m/a"], ["q#x"]]
    assert rows(whole) == [["p#m/a", "p#m"], ["p#m/b"], ["q#x"]], "for one need they are one"
    assert rows({"p#m/a": 0.9, "p#a": 0.8}, own=frozenset(["p#a", "p#m/a"])) == [["p#m/a", "p#a"]], "a name is one row"


names = st.sampled_from(["a", "b", "c"])
ids = st.builds(lambda p, path: f"{p}#{'/'.join(path)}", st.sampled_from("pq"), st.lists(names, min_size=1, max_size=4))


@given(st.dictionaries(ids, st.floats(0, 1)), st.lists(ids, unique=True, max_size=2), st.frozensets(ids, max_size=3))
def test_each_technique_stands_once_and_rows_one_inside_the_other_answer_needs_of_their_own(
    strength: dict[str, float], first: list[str], own: frozenset[str]
) -> None:
    found = rows(strength, tuple(first), own)
    shown = [technique for row in found for technique in row]
    assert sorted(shown) == sorted({*strength, *first})
    leads = [row[0] for row in found]
    assert {lead for one in leads for lead in leads if above(one, lead) and one not in own} <= own


def test_steps_of_a_paper_beyond_the_last_row_are_named_with_its_rows() -> None:
    full = Group("p#a", [f"p#a/{n}" for n in range(MOST_RELATIVES)])
    rows = [full, Group("p#b", ["p#m"]), Group("q#x"), Group("p#c"), Group("r#y"), Group("p#d")]
    found = crowded_out(rows, 3)
    assert [(row.lead, row.relatives) for row in found[:3]] == [
        ("p#a", full.relatives),
        ("p#b", ["p#m", "p#c", "p#d"]),
        ("q#x", []),
    ]
    assert found[3:] == rows[3:]
