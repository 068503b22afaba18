import pytest

from xkg.agents.ablation.candidates import Candidate, Place, Replacement
from xkg.agents.ablation.mutation import (
    MutationError,
    apply,
    changed_places,
    joined,
    refusal,
)

SOURCE = "import math\n\nRATE = 0.5\n\n\ndef loss(a, b):\n    return a + RATE * b\n"


def replacing(old: str, new: str, text: str = SOURCE, path: str = "train.py") -> Replacement:
    start = text.index(old)
    return Replacement(path=path, start=start, end=start + len(old), old=old, new=new)


def candidate(*replacements: Replacement, places: tuple[tuple[int, int], ...] = ((7, 7),)) -> Candidate:
    return Candidate(
        component="c", kind="toggle", value="0.0", baseline_value="x", description="off", replacements=replacements,
        places=tuple(Place(path="train.py", start_line=a, end_line=b) for a, b in places),
    )  # fmt: skip


def why(one: Candidate, protected: tuple[int, int] | None = None) -> str | None:
    before = {"train.py": SOURCE}
    places = [Place(path="train.py", start_line=protected[0], end_line=protected[1])] if protected else []
    return refusal(one, before, apply(one.replacements, before), places)


def test_what_does_not_stand_there_does_not_apply() -> None:
    for wrong in (
        replacing("0.5", "1").model_copy(update={"old": "0.7"}),
        replacing("0.5", "1").model_copy(update={"path": "other.py"}),
    ):
        with pytest.raises(MutationError):
            apply([wrong], {"train.py": SOURCE})
    with pytest.raises(MutationError, match="overlap"):
        apply([replacing("RATE * b", "b"), replacing("RATE * b\n", "c\n")], {"train.py": SOURCE})


def test_a_change_in_its_place_may_run() -> None:
    assert why(candidate(replacing("RATE * b", "0.0 * (RATE * b)"))) is None
    both = [replacing("loss(a, b)", "loss(b, a)"), replacing("RATE * b", "0.0")]
    assert why(candidate(*both, places=((6, 6), (7, 7)))) is None


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (candidate(replacing("RATE * b", "RATE * b")), "empty"),
        (candidate(replacing("RATE * b", "RATE * b  # off")), "comments"),
        (candidate(replacing("RATE * b", "RATE *  b")), "comments"),
        (candidate(replacing("RATE * b", "RATE * (b")), "would not parse"),
        (candidate(replacing("0.5", "0.0")), "outside the component's places"),
    ],
)
def test_a_useless_change_is_refused(one: Candidate, reason: str) -> None:
    assert reason in (why(one) or "")


def test_the_code_of_the_metric_is_not_changed() -> None:
    assert "computes the metric" in (why(candidate(replacing("RATE * b", "0.0 * (RATE * b)")), (6, 7)) or "")


def test_equal_changes_have_equal_ids() -> None:
    one, other = candidate(replacing("0.5", "0.0")), candidate(replacing("0.5", "0.0"), places=((3, 3),))
    assert one.id == other.id != candidate(replacing("0.5", "1.0")).id


SEEDED = "x = draw(seed=7)\ny = draw(seed=7)\n"


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ("draw(seed=7)", "0.0 * (draw(seed=7))", "x = 0.0 * (draw(seed=8))\ny = draw(seed=8)\n"),
        ("draw(seed=7)", "0.0", "x = 0.0\ny = draw(seed=8)\n"),
        ("x", "z", "z = draw(seed=8)\ny = draw(seed=8)\n"),
    ],
)
def test_a_second_change_is_made_inside_the_first_where_its_code_is_left(old: str, new: str, after: str) -> None:
    def at(start: int, old: str, new: str) -> Replacement:
        return Replacement(path="a.py", start=start, end=start + len(old), old=old, new=new)

    seeds = [at(SEEDED.index("7"), "7", "8"), at(SEEDED.rindex("7"), "7", "8")]
    both = joined([at(SEEDED.index(old), old, new)], seeds, {"a.py": SEEDED})
    assert apply(both, {"a.py": SEEDED}) == {"a.py": after}


BEFORE = """\
import math


def scale(x, by=0.5):
    # half of it
    y = (
        x
        * by
    )
    if y > 3:
        y = 3
    return y


class Net:
    width: int = 8
"""


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("        * by\n", "        * 2.0\n", {6, 7, 8}),  # a statement of several lines counts as one
        ("by=0.5", "by=1.0", {6, 7, 8, 10, 11, 12}),  # a default also affects the lines that call the function
        ("if y > 3", "if y > 4", {10}),
        ("        y = 3\n", "        y = 4\n", {11}),
        ("width: int = 8", "width: int = 16", {16}),
        ("# half of it", "# all of it", set()),
    ],
)
def test_lines_that_show_that_a_change_ran(old: str, new: str, lines: set[int]) -> None:
    found = changed_places({"a.py": BEFORE}, {"a.py": BEFORE.replace(old, new)})
    assert set().union(*(each.lines for each in found)) <= lines
    assert bool(found) == bool(lines)


def test_what_is_only_removed_and_what_is_no_python_have_no_lines() -> None:
    assert not changed_places(
        {"a.py": BEFORE}, {"a.py": BEFORE.replace("        y = 3\n    return y\n", "        y = 3\n")}
    )
    [dead] = changed_places({"a.py": BEFORE}, {"a.py": BEFORE.replace("    return y\n", "    return y\n    y = 2\n")})
    assert not dead.lines
    assert not changed_places({"a.yaml": "a: 1\n"}, {"a.yaml": "a: 2\n"})
