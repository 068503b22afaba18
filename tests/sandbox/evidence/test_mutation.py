import ast

from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.sandbox.evidence.mutation import body_lines, mutants, plain_newlines, statements_run, stubs

MODULE = '''"""Thermostat."""
import math
from abc import abstractmethod

LIMIT = 40


def heating(now: float, wanted: float = 20.0) -> bool:
    """Whether to heat."""
    if math.isnan(now):
        raise ValueError("no reading" + str(1))
    print("now", now + 1)
    return now < wanted and not now > LIMIT


def _hidden():
    return 1


class Room:
    size: int = 3

    def __init__(self):
        super().__init__()
        self.log = []

    def note(self, value):
        total = 0
        for item in (value, 2 * value):
            total += item
        self.log.append(total)
        total = -total
        self.last = total
        return f"{total + 1}" + "°"

    def __repr__(self):
        return "Room"

    @abstractmethod
    def size_of(self):
        raise NotImplementedError

    def empty(self):
        """Nothing yet."""


if __name__ == "__main__":
    print(heating(1 + 1))
'''
EVERYWHERE = frozenset(range(1, 100))


def changes(source: str, covered: frozenset[int] = EVERYWHERE) -> set[str]:
    return {change.what for change in mutants(source, covered, "seed")}


def test_each_public_function_with_a_body_has_its_stub() -> None:
    found = {stub.what.split()[3]: stub.apply(MODULE) for stub in stubs(MODULE)}
    assert list(found) == ["heating", "Room.__init__", "Room.note"]
    namespace: dict[str, object] = {}
    exec(found["heating"], namespace)
    assert eval("heating(0.0)", namespace) is None
    assert eval("heating.__doc__", namespace) == "Whether to heat."
    assert "def _hidden():\n    return 1\n" in found["Room.note"]


def test_a_function_on_one_line_and_one_that_begins_with_a_decorated_one_can_be_left_out() -> None:
    source = "def f(x): return x + 1\n\ndef g():\n    @staticmethod\n    def inner():\n        pass\n    return inner\n"
    one, other = stubs(source)
    assert one.apply(source).startswith("def f(x): return None\n")
    assert other.apply(source).endswith("def g():\n    return (None\n\n\n)\n")


def test_mutants_change_operators_conditions_constants_and_statements() -> None:
    assert changes(MODULE) == {
        "40 became 41",
        "math.isnan(now) became not math.isnan(now)",
        "now < wanted and (not now > LIMIT) became now < wanted or not now > LIMIT",
        "now < wanted became now >= wanted",
        "not now > LIMIT became now > LIMIT",
        "now > LIMIT became now <= LIMIT",
        "1 became 2",
        "3 became 4",
        "0 became 1",
        "2 * value became 2 / value",
        "2 became 3",
        "total += item left out",
        "total += item became total -= item",
        "self.log.append(total) left out",
        "-total became total",
        "total = -total left out",
        "self.last = total left out",
    }


def test_columns_are_those_of_the_text_whatever_it_holds() -> None:
    source = "def f(x):\r\n    é = '°'; y = x + 1\r\n    return (é,\r\n            y * 2)\r\n"
    found = {change.what: change.apply(source) for change in mutants(source, EVERYWHERE, "")}
    assert "    é = '°'; y = (x - 1)\n" in found["x + 1 became x - 1"]
    assert "            (y / 2))\n" in found["y * 2 became y / 2"]


def test_only_what_the_test_runs_is_changed_and_the_lines_take_turns() -> None:
    covered = frozenset({13, 30, 31})
    assert {c.line for c in mutants(MODULE, covered, "s")} == covered
    source = "def f(x):\n    a = x + 1 - 2 * 3 / 4\n    b = a * 2\n    c = b - 1\n    return c\n"
    first = [change.line for change in mutants(source, EVERYWHERE, "s")][:3]
    assert sorted(first) == [2, 3, 4]


def test_the_order_depends_on_the_seed_alone() -> None:
    one, again, other = ([c.what for c in mutants(MODULE, EVERYWHERE, seed)] for seed in ("a", "a", "b"))
    assert one == again
    assert one != other
    assert sorted(one) == sorted(other)


def test_a_mutant_on_a_later_line_of_a_statement_counts_as_covered() -> None:
    source = "def f(x):\n    return max(\n        x,\n        3,\n    )\n"
    assert changes(source, frozenset({2})) == {"3 became 4"}


def test_lines_that_can_be_covered_are_those_of_bodies() -> None:
    source = (
        'A = 1\n\n\ndef f(x):\n    """Doc."""\n    global A\n    if x:\n        A = 2\n    return (\n        A\n    )\n'
    )
    assert body_lines(source) == {7, 8, 9}


@settings(max_examples=30)
@given(st.lists(st.sampled_from(MODULE.splitlines(keepends=True)), max_size=12), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_module_that_parses_can_be_changed(lines: list[str], newline: str) -> None:
    source = "".join(lines).replace("\n", newline)
    try:
        ast.parse(source)
    except SyntaxError:
        return
    for change in [*stubs(source), *mutants(source, EVERYWHERE, "s")]:
        changed = change.apply(source)
        ast.parse(changed)
        assert changed.count("\n") == plain_newlines(source).count("\n")


def test_what_follows_a_change_keeps_its_line() -> None:
    source = """\
def f(x):
    total = (x +
             1)
    print(
        total)
    if (x and
            total):
        return -(
            3)
    return x


def last():
    return 1
"""
    changes = [*stubs(source), *mutants(source, set(range(1, 30)), "seed")]
    assert len(changes) > 5
    for change in changes:
        changed = change.apply(source)
        compile(changed, "changed", "exec")
        assert changed.count("\n") == source.count("\n"), change
        assert changed.splitlines()[12:14] == ["def last():", "    return 1"] or change.line >= 13


def test_what_a_loop_ends_with_anyway_is_not_left_out() -> None:
    source = (
        "def f(xs):\n    for x in xs:\n        if x < 3:\n            print(x)\n        elif x > 9:\n"
        "            continue\n"
        "    for x in xs:\n        if x > 9:\n            continue\n        xs.pop()\n"
    )
    left_out = [c.line for c in mutants(source, set(range(1, 11)), "seed") if c.what == "continue left out"]
    assert left_out == [9]


def test_a_statement_over_several_lines_was_run_if_one_of_them_was() -> None:
    source = (
        "def f(x):\n    assert (\n        x\n        > 0\n    )\n    if (\n        x\n    ):\n        return 1\n"
        "    return 2\n"
    )
    assert statements_run(source, {3, 7, 10}) == {2, 3, 6, 7, 10}
