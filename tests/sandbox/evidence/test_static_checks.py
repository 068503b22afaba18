import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.model import Code, Evidence, Level
from xkg.sandbox.evidence.levels import prove
from xkg.sandbox.evidence.static_checks import check_parsed, needed_imports
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.runner import Environment, Limits, Runner

NOTHING = Environment(site=None, hash="0" * 16)


def imported(source: str, runner: Runner, environment: Environment, limits: Limits | None = None) -> Evidence:
    code = Code(id="p#t@0", technique="p#t", implementation=source)
    return prove(code, runner, environment, limits or Limits(seconds=20)).evidence


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


def test_a_module_that_imports() -> None:
    evidence = imported("import json\nprint('at import')\n", BubblewrapRunner(), NOTHING)
    assert evidence.level is Level.IMPORTED
    assert (evidence.runner, evidence.environment, evidence.exit_code) == ("bubblewrap", NOTHING.hash, 0)
    assert evidence.output_end == "at import"
    assert evidence.reason == "there is no test"
    assert evidence.command == "python harness.py"
    assert evidence.seconds is not None
    assert evidence.seconds > 0
    assert evidence.peak_memory_mb is not None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("values = {}\nvalues['x']\n", "KeyError: 'x'"),
        ("import sys\nsys.exit(0)\n", "exited the process before its import finished"),
        ("while True:\n    print('x' * 10_000)\n", "output: printed without end"),
        ("open('/etc/shadow')\n", "FileNotFoundError: [Errno 2] No such file or directory: '/etc/shadow'"),
    ],
)
def test_a_module_that_does_not_import_stays_parsed(source: str, reason: str) -> None:
    evidence = imported(source, BubblewrapRunner(), NOTHING, Limits(seconds=20, memory_mb=150, output_kb=4))
    assert evidence.level is Level.PARSED
    assert (evidence.reason or "").startswith(reason)


def test_what_the_module_can_do_without_is_tried() -> None:
    environment = NOTHING.model_copy(update={"missing": {"torch": "needs about 5,200 MB"}})
    source = "try:\n    import torch\nexcept ImportError:\n    torch = None\n"
    assert imported(source, BubblewrapRunner(), environment).level is Level.IMPORTED


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
