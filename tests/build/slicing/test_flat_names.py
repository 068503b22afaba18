import pytest

from tests.build.codebases import run
from tests.build.slicing.slices import sliced

CLASHES = {
    "p/__init__.py": "",
    "p/a.py": "def load(x):\n    return ('a', x)\n",
    "p/b.py": "def load(x):\n    return ('b', x)\n",
    "p/c.py": "from . import a, b as other\nfrom .a import load as first\ndef both(load):\n"
    "    return first(load), a.load(load), other.load(load), f'{a.load(1)} {other.load(2)!r}'\n",
}
BUILTIN = {
    "u.py": "def max(a):\n    return 'mine'\n",
    "v.py": "import u\ndef f():\n    return u.max([1]), max([1, 2])\n",
}
STATE = {
    "state.py": "level = 0\n",
    "main.py": "import state\nfrom state import level\ndef up():\n    state.level = state.level + 1\n"
    "    return state.level, level\n",
}
STAR = {
    "lib.py": "rate = 1\n",
    "m.py": "from lib import *\ndouble = rate * 2\nrate = 5\ndef f():\n    return double, rate\n",
}
ALIASES = {
    "a.py": "import math as m\ndef f():\n    return m.floor(2.5)\n",
    "b.py": "import cmath as m\nfrom a import f\ndef g():\n    return m.sqrt(-1), f()\n",
}


@pytest.mark.parametrize(
    ("files", "symbol", "expression", "value"),
    [
        pytest.param(
            CLASHES, "p/c.py::both", "both(7)", (("a", 7), ("a", 7), ("b", 7), "('a', 1) ('b', 2)"), id="clashes"
        ),
        pytest.param(BUILTIN, "v.py::f", "f()", ("mine", 2), id="a function named like a builtin"),
        pytest.param(
            {"m.py": "x = 1\nA = x + 1\nx = 10\nB = x\ndef f():\n    return A, B, x\n"},
            "m.py::f",
            "f()",
            (2, 10, 10),
            id="a name that is assigned twice",
        ),
        pytest.param(STATE, "main.py::up", "[up(), up()]", [(1, 0), (2, 0)], id="state set through its module"),
        pytest.param(STAR, "m.py::f", "f()", (2, 5), id="a name of a star import that is assigned again"),
        pytest.param(ALIASES, "b.py::g", "g()", (1j, 2), id="one alias for two packages"),
    ],
)
def test_names_mean_the_same_in_a_slice(files: dict[str, str], symbol: str, expression: str, value: object) -> None:
    result = sliced(files, symbol)
    assert eval(expression, run(result.source)) == value
    assert result.packages == ()


def test_a_name_that_nothing_defines_is_missing() -> None:
    files = {"p/__init__.py": "", "p/m.py": "from .gone import z\ndef f():\n    return undefined_thing + z\n"}
    missing = sliced(files, "p/m.py::f").missing
    assert set(missing) == {"undefined_thing", "z"}
    assert ".gone" in missing["z"]
