import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.slicing.scoping.broken_statements import without_broken_statements

BEFORE, AFTER = "import waves\n\n", "\n@waves.fast\ndef sound(x):\n    return x\n"


@pytest.mark.parametrize(
    "broken",
    [
        "@waves.fast\n\n@waves.safe\ndef f(x):\n    return x x\n",
        "def f(x):\n    y = dict(a=1\n    b=2)\n",
        "def f(x):\n    y = [1,\n",  # never closed
        "class A:\n    def f(self):\n",  # no body
        "def f(x):\n      y = 1\n    return y\n",
        "if waves.old:\n    print waves\nelse:\n    print(1)\n",
        'def f(x):\n    """no end\n    return x\n',
        "print 1\nprint 2\n",
        "def f(a, a): x)\n",
    ],
)
def test_what_parses_keeps_its_place(broken: str) -> None:
    found = without_broken_statements(BEFORE + broken + AFTER)
    assert found is not None
    text, tree = found
    assert text.startswith(BEFORE)
    assert text.endswith(AFTER)
    assert text.count("\n") == (BEFORE + broken + AFTER).count("\n")
    assert [type(node) for node in tree.body] == [ast.Import, ast.FunctionDef]


def test_what_parses_as_a_whole_stays_and_what_does_not_is_given_up() -> None:
    whole = without_broken_statements(BEFORE + AFTER)
    assert whole is not None
    assert whole[0] == BEFORE + AFTER
    assert without_broken_statements("import (") is None
    assert without_broken_statements("print 1\n" * 100 + AFTER) is None


@given(st.text(alphabet="x=(:\n \"'@defif#[\\\r\f", max_size=80))
def test_no_text_raises(source: str) -> None:
    without_broken_statements(source)
