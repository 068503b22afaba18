import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.agents.ablation.mutation import changed_places

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
        ("        * by\n", "        * 2.0\n", {6, 7, 8}),  # a statement of several lines is one
        ("by=0.5", "by=1.0", {6, 7, 8, 10, 11, 12}),  # a default matters where the function is called
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


@given(st.lists(st.sampled_from(BEFORE.splitlines()), max_size=12))
def test_lines_are_of_the_changed_file(lines: list[str]) -> None:
    after = "\n".join(lines)
    try:
        found = changed_places({"a.py": BEFORE}, {"a.py": after})
    except SyntaxError:
        return
    assert all(1 <= line <= len(lines) for each in found for line in each.lines)
