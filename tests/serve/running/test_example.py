"""Tests the example scripts that users start from."""

import ast

import pytest

from xkg.model import Code, Level, code_id
from xkg.serve.running.example import example

TECHNIQUE = "title:a#b"


def code(implementation: str, test: str = "") -> Code:
    identity = code_id(TECHNIQUE, implementation, test)
    return Code(id=identity, technique=TECHNIQUE, implementation=implementation, test=test, level=Level.PARSED)


@pytest.mark.parametrize(
    ("implementation", "call"),
    [
        ("def _a(x): pass\ndef f(x, y=1, *, z, w=2): pass\ndef _g(): pass", "f(x=..., z=...)"),
        ("def f(x, /, y): pass", "f(..., y=...)"),
        ("class Net:\n    def __init__(self, width, depth=2): pass", "Net(width=...)"),
        ("WIDTH = 3", "sorted(vars(implementation))"),
    ],
)
def test_it_calls_the_last_public_name(implementation: str, call: str) -> None:
    script = example(code(implementation), "A\nname")
    assert script.splitlines()[0].startswith("# A name:")
    assert script.splitlines()[-1] == call
    assert ("Replace `...`" in script) == ("..." in call)
    ast.parse(script)


def test_a_stored_test_is_the_example() -> None:
    script = example(
        code("def half(x): return x / 2", "from implementation import half\nassert half(4) == 2\n"), "Half"
    )
    assert script.endswith("from implementation import half\nassert half(4) == 2\n")
