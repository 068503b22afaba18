import ast
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build.codebases import run
from xkg.build.slicing.compose import Part, callable_names, compose, interfaces
from xkg.build.slicing.scoping.scopes import module_scope
from xkg.model import Level
from xkg.sandbox.evidence.static_checks import check_parsed


def part(name: str, source: str) -> Part:
    return Part(name, dedent(source).lstrip("\n"))


KERNEL = part(
    "RBF kernel",
    '''
    """Kernels."""
    from __future__ import annotations
    import math

    FLOOR = 1e-6
    UNUSED = 3


    def squared(x: float, y):
        """The square of a difference."""
        return (x - y) ** 2


    def kernel(x, y, h=1.0):
        """The kernel. More of it."""
        return math.exp(-squared(x, y) / (h + FLOOR))


    def unused():
        return UNUSED
    ''',
)
STEP = part(
    "Step size",
    '''
    import math as m


    def squared(x, y):
        return (x - y) ** 2


    class Step:
        """Steps."""

        def __init__(self, rate=0.5):
            self.rate = rate

        def move(self, x):
            """One move."""
            return self.rate * m.sqrt(squared(x, 0.0))

        def _inner(self):
            return 1
    ''',
)


def test_what_is_reached_stands_in_front_and_the_rest_does_not() -> None:
    new = '"""New."""\nimport math\n\ndef both(x):\n    return kernel(x, 1.0) + math.pi\n'
    found = compose(new, [KERNEL, STEP])
    assert found.used == (0,)
    assert found.source.startswith('"""New."""\n\nfrom __future__ import annotations\nimport math\n')
    assert [line for line in found.source.split("\n") if line.startswith("# ---")] == [
        "# --- component: RBF kernel",
        "# --- new",
    ]
    assert "unused" not in found.source.casefold()
    assert found.source.count("import math") == 1
    assert check_parsed(found.source).level is Level.PARSED
    assert run(found.source)["both"](1.0) == pytest.approx(1.0 + 3.141592653589793)


def test_one_name_for_two_definitions_is_renamed() -> None:
    other = part("Other", "def scale(v):\n    return v * 3\n\ndef kernel(x):\n    return scale(x)\n")
    third = part("Other", "def scale(v):\n    return v * 5\n")
    parts = [KERNEL, other, third]
    assert {"kernel", "kernel__component_other", "scale", "scale__component_other_2"} <= callable_names(parts)
    assert "def kernel__component_other(x)" in interfaces(parts)
    new = "def go(x):\n    return kernel(x, x), kernel__component_other(x), scale(x), scale__component_other_2(x)\n"
    found = compose(new, parts)
    names = run(found.source)
    assert names["go"](2) == (1.0, 6, 6, 10)
    assert names["kernel__component_other"](2) == 6


def test_of_two_packages_with_one_alias_the_second_has_its_own_name() -> None:
    first = part("First", "import cmath as m\n\ndef root(x):\n    return m.sqrt(x)\n")
    second = part("Second", "import math as m\n\ndef up(x):\n    return m.ceil(x)\n")
    found = compose("import cmath as m\n\ndef go(x):\n    return root(x) + m.exp(0) + up(x)\n", [first, second])
    assert "import cmath as m\nimport math\n" in found.source
    assert "return math.ceil(x)" in found.source
    assert run(found.source)["go"](4) == 7


def test_what_new_code_defines_itself_is_its_own() -> None:
    found = compose("def squared(x):\n    return x\n\ndef go(x):\n    return squared(x) + kernel(x, 0.0)\n", [KERNEL])
    assert run(found.source)["go"](3.0) == pytest.approx(3.0001234, rel=1e-5)


def test_state_of_components_is_not_shared() -> None:
    counter = "SEEN = []\n\ndef {name}(x):\n    SEEN.append(x)\n    return len(SEEN)\n"
    parts = [Part("A", counter.format(name="one")), Part("B", counter.format(name="two"))]
    names = run(compose("def go():\n    return one(1), one(1), two(1)\n", parts).source)
    assert names["go"]() == (1, 2, 1)


def test_composites_are_components_too() -> None:
    middle = compose("def both(x):\n    return kernel(x, 0.0) + Step().move(x)\n", [KERNEL, STEP]).source
    found = compose("def top(x):\n    return both(x) + squared(x, 1.0)\n", [Part("Middle", middle), STEP])
    assert found.used == (0,)
    assert found.source.count("def squared") == 1
    assert "# --- new\ndef top" in found.source
    assert "component: RBF" not in found.source
    assert run(found.source)["top"](2.0) == pytest.approx(1 + 1 + 0.0183157, rel=1e-4)


@pytest.mark.parametrize("new", ["def go(:\n", "\0", "x = " + "(" * 3000 + ")" * 3000])
def test_code_that_does_not_parse_is_reported_as_a_problem(new: str) -> None:
    found = compose(new, [KERNEL])
    assert (found.source, bool(found.problem)) == ("", True)


def test_a_component_that_does_not_parse_offers_nothing() -> None:
    assert callable_names([Part("Broken", "def (:\n"), STEP]) == {"squared", "Step"}


def test_interfaces_show_signatures_and_first_sentences() -> None:
    assert interfaces([KERNEL, STEP]).split("\n") == [
        "From RBF kernel:",
        "FLOOR = 1e-06",
        "UNUSED = 3",
        "def squared(x: float, y)  # The square of a difference.",
        "def kernel(x, y, h=1.0)  # The kernel.",
        "def unused()",
        "",
        "From Step size:",
        "class Step  # Steps.",
        "    def __init__(self, rate=0.5)",
        "    def move(self, x)  # One move.",
    ]


def test_interfaces_show_the_fields_of_classes_with_their_defaults() -> None:
    source = (
        "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Config:\n    '''Sizes. All of them.'''\n"
        "    width: int\n    depth: int = 3\n    kind = 'relu'\n    _cache = None\n    def _inner(self): pass\n"
    )
    assert interfaces([Part("Sizes", source)]).split("\n") == [
        "From Sizes:",
        "@dataclass(frozen=True) class Config  # Sizes.",
        "    width: int",
        "    depth: int = 3",
        "    kind = 'relu'",
    ]


# --- generated components ---------------------------------------------------------------------------------------------

NAMES = ["alpha", "beta", "gamma", "_delta"]


@st.composite
def component(draw: st.DrawFn) -> str:
    """Generates a constant and functions that call earlier functions."""
    lines = [
        draw(st.sampled_from(["import math", "import math as m\nimport math", "from math import floor\nimport math"]))
    ]
    lines.append(f"BASE = {draw(st.integers(1, 3))}")
    defined: list[str] = []
    for name in draw(st.permutations(NAMES))[: draw(st.integers(1, 4))]:
        terms = ["x", str(draw(st.integers(1, 3))), "BASE", "math.floor(x)"]
        terms += [f"{other}(x)" for other in defined]
        a, b = draw(st.sampled_from(terms)), draw(st.sampled_from(terms))
        lines.append(f"def {name}(x):\n    return {a} + {b}")
        defined.append(name)
    return "\n".join(lines) + "\n"


@settings(max_examples=25)
@given(st.lists(component(), min_size=1, max_size=3), st.data())
def test_composed_code_does_what_the_parts_do(sources: list[str], data: st.DataObject) -> None:
    parts = [Part(f"C{i}", source) for i, source in enumerate(sources)]
    own = [run(source) for source in sources]
    meant: dict[str, Any] = {}
    for i, namespace in enumerate(own):
        for node in ast.parse(sources[i]).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                name = node.name if node.name not in meant else f"{node.name}__component_c{i}"
                meant[name] = namespace[node.name]
    offered = sorted(set(meant) & callable_names(parts))
    # A name is left out if an earlier part defines it identically.
    for name in set(meant) - set(offered):
        same = [meant[other](5) for other in offered if other.startswith(name.partition("__")[0])]
        assert meant[name](5) in same
    chosen = data.draw(st.lists(st.sampled_from(offered), min_size=1, max_size=4)) if offered else []
    new = "import math\n\ndef top(x):\n    return [" + ", ".join(f"{name}(x)" for name in chosen) + "]\n"
    found = compose(new, parts)
    assert found.problem == ""
    assert check_parsed(found.source).level is Level.PARSED
    assert run(found.source)["top"](4) == [meant[name](4) for name in chosen]
    assert compose(new, parts) == found


@given(st.text(alphabet="def f(x):\n return\tkernel'\"#=import*@;\\\0é", max_size=80))
def test_whatever_is_written_gives_code_or_a_problem(new: str) -> None:
    found = compose(new, [KERNEL])
    assert bool(found.problem) == (module_scope(new) is None)
    assert found.source == new or found.used == (0,) or found.problem


def test_new_code_may_call_a_private_helper_of_a_part() -> None:
    part = Part("Square", "def _twice(x):\n    return 2 * x\n\n\ndef square(x):\n    return x * x\n")
    composed = compose("def both(x):\n    return square(x) + _twice(x)\n", [part])
    assert composed.problem == ""
    assert run(composed.source)["both"](3) == 15
