"""What a writer is not shown of the code around a technique, and what it is shown of its callers."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build.slicing.test_slice import codebase_of
from xkg.build.guided.coding.call_sites import call_sites
from xkg.build.guided.coding.material import _ready_remarks, material
from xkg.build.guided.coding.ready import ready_in_components
from xkg.build.slicing.docstrings import with_short_docstrings
from xkg.model import LineRange

DOCUMENTED = '''class Long:
    """Does a thing.

    On lines.

    On more
    lines.
    """

    def method(self):
        """Does
        two things.

        Args:
            a: one
            b: two
            c: three
        """
        return 1

    def short(self):
        """Does.

        Little.
        """
        return 2
'''
FILES = {
    "core.py": '''import numpy as np

def spread(values, power=1.0):
    """Spreads."""
    centred = values - np.mean(values)
    return np.sum(centred ** 2) ** power

def measure(values):
    first = spread(values, power=0.5)
    return first / len(values)
''',
    "app.py": """from core import spread

def report(data):
    if data is not None:
        result = spread(
            data, power=0.5
        )
        accepted = result < 3
        print(accepted)
    return data
""",
    "test_core.py": "from core import spread\n\ndef test_it():\n    assert spread([1]) == 0\n    x = spread([2])\n",
}
PREFIX = "local:made@0123456789:core.py::"


def test_docstrings_are_cut_to_their_first_paragraph_except_the_located_ones() -> None:
    cut = with_short_docstrings(DOCUMENTED, {"Long.method"})
    tree = ast.parse(cut)
    assert ast.get_docstring(tree.body[0]) == "Does a thing. …"  # type: ignore[arg-type]
    assert "c: three" in cut
    assert "Little." in cut
    everything = with_short_docstrings(DOCUMENTED, ())
    assert "c: three" not in everything
    assert "two things. …" in everything
    assert "Little." in everything


@given(st.text(alphabet="ab\n\"'\\ :=()#", max_size=120))
def test_any_code_keeps_what_it_computes(text: str) -> None:
    try:
        before = ast.parse(text)
    except (SyntaxError, ValueError):
        assert with_short_docstrings(text, ()) == text
        return
    after = ast.parse(with_short_docstrings(text, ()))
    assert [type(n) for n in ast.walk(after)] == [type(n) for n in ast.walk(before)]


def test_calls_of_a_located_function_are_shown_with_what_follows() -> None:
    codebase = codebase_of(FILES)
    symbol = codebase.symbols()[f"{PREFIX}spread"].symbol
    near, far = call_sites(codebase, symbol, ())
    assert near.startswith("# --- called in core.py:")
    assert "first = spread(values, power=0.5)" in near
    assert far.startswith("# --- called in app.py:5-9")
    assert "data, power=0.5" in far
    assert "accepted = result < 3" in far
    assert "return data" not in far
    assert all(line.startswith("#") for line in (near + far).splitlines())


def test_calls_that_are_shown_anyway_are_not_repeated() -> None:
    codebase = codebase_of(FILES)
    symbol = codebase.symbols()[f"{PREFIX}spread"].symbol
    found = call_sites(codebase, symbol, [f"{PREFIX}measure"])
    assert "core.py:" not in found[0]
    assert len(found) == 2
    assert "test_core.py" in found[1]


def test_of_a_located_function_with_lines_only_these_are_material() -> None:
    codebase = codebase_of(FILES)
    identity = f"{PREFIX}spread"
    narrowed = material(codebase, [identity], {identity: [LineRange(start_line=5, end_line=5)]})
    assert "centred = values" in narrowed.code
    assert "def measure" not in narrowed.code
    assert not any("nothing" in remark for remark in narrowed.remarks)


@pytest.mark.parametrize(
    ("implementation", "is_ready"),
    [
        ("def spread(v, p=1.0):\n    c = v - np.mean(v)\n    return np.sum(c ** 2) ** p\n", True),
        ("def other(v):\n    return np.linalg.inv(v) @ v\n", False),
    ],
)
def test_what_a_component_does_is_left_out_of_its_composite(implementation: str, is_ready: bool) -> None:
    codebase = codebase_of(FILES)
    identity, own = f"{PREFIX}spread", f"{PREFIX}measure"
    ready = ready_in_components(codebase, [own], [("Spread", [identity], implementation)])
    assert dict(ready) == ({identity: "Spread"} if is_ready else {})
    assert ready_in_components(codebase, [identity], [("Spread", [identity], implementation)]) == {}
    found = material(codebase, [own], {}, ready)
    assert ("def spread" in found.code) is not is_ready
    assert ("Left out, since the component Spread does it: spread" in found.remarks) is is_ready


def test_of_two_components_the_one_with_the_name_is_meant() -> None:
    codebase = codebase_of(FILES)
    body = "(v, p=1.0):\n    c = v - np.mean(v)\n    return np.sum(c ** 2) ** p\n"
    both = [("Uses", [f"{PREFIX}spread"], f"def _spread{body}"), ("Has", [f"{PREFIX}spread"], f"def spread{body}")]
    assert ready_in_components(codebase, [f"{PREFIX}measure"], both) == {f"{PREFIX}spread": "Has"}


def test_a_method_that_is_shown_is_not_said_to_be_left_out() -> None:
    source = (
        "class Model:\n    def power(self):\n        return self.offset()\n\n    def offset(self):\n        return 1\n"
    )
    ready = {"r@1:model.py::Model.offset": "Offset", "r@1:model.py::offset": "Shift"}
    assert _ready_remarks(source, ready) == ["Left out, since the component Shift does it: offset"]


def test_examples_and_pointers_of_a_docstring_are_left_out() -> None:
    lines = ["Does.", "", "Parameters", "----------", "a : int, default 3", "", "Examples", "--------", ">>> A(3)", "3"]
    code = "\n    ".join(["class A:", f'"""{lines[0]}', *lines[1:], '"""', "x = 1\n"])
    shown = with_short_docstrings(code, {"A"})
    assert "default 3 …" in shown
    assert ">>>" not in shown
    assert compile(shown, "a.py", "exec")
