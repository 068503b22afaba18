import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.model import Level
from xkg.sandbox.evidence.static_checks import check_parsed, needed_imports


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\n\n\ndef mean(x):\n    return np.mean(x, axis=AXIS)\n\n\nAXIS = 0\n",
        "from torch import *\n\nnet = Linear(1, 2)\n",
        "try:\n    unicode\nexcept NameError:\n    unicode = str\n",
        "class A:\n    x = 1\n    y = [x for _ in range(3)]\n",
        "if __name__ == '__main__':\n    print(__file__)\n",
    ],
)
def test_sound_source_is_parsed(source: str) -> None:
    evidence = check_parsed(source)
    assert (evidence.level, evidence.reason) == (Level.PARSED, None)
    assert evidence.checked_at is not None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (" \n\t\n", "there is no code"),
        ("def f(x):\n    return helper(x) + np.mean(x) + helper(0)\n", "undefined: helper, np"),
        ("print 'two'\n", "does not parse: Missing parentheses in call to 'print'. Did you mean print(...)? (line 1)"),
        ("x = 1\nreturn x\n", "does not parse: 'return' outside function (line 2)"),
        ("a\0b", "does not parse: source code string cannot contain null bytes"),
        ("x = '\ud800'", "does not parse: 'utf-8' codec can't encode"),
        ("x = " + "+".join("1" * 30_000), "does not parse: too large or nested too deeply"),
        ("x = " + "-" * 200_000 + "1", "does not parse: too large or nested too deeply"),
        ("x = 1\n" * 1_000_000, "the source has 6,000,000 characters, over the limit of 5,000,000"),
    ],
)
def test_unsound_source_says_why(source: str, reason: str) -> None:
    evidence = check_parsed(source)
    assert evidence.level is Level.NONE
    assert (evidence.reason or "").startswith(reason)


@settings(max_examples=30)
@given(st.one_of(st.text(), st.text("(){}[]:=+-.,'\"\\\n \tabdefimportclassif01")))
def test_any_text_gets_a_level(source: str) -> None:
    evidence = check_parsed(source)
    assert (evidence.level is Level.PARSED) == (evidence.reason is None)
    needed_imports(source)


def test_needed_imports_are_those_of_the_import_itself() -> None:
    source = """
import a.b as c, d
from e.f import g
from . import sibling
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import types_only
try:
    import optional
except ImportError:
    import fallback
finally:
    import always
with open("x") as f:
    import inside
class C:
    import in_class
    def m(self):
        import late
"""
    assert needed_imports(source) == ["a", "d", "e", "typing", "always", "inside", "in_class"]
