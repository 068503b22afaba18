"""What a writer is not shown of the code around a technique."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from tests.build.codebases import codebase_of, symbol
from xkg.build.guided.coding.material import material
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
}


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


def test_of_a_located_function_with_lines_only_these_are_material() -> None:
    codebase = codebase_of(FILES)
    identity = symbol("core.py::spread")
    narrowed = material(codebase, [identity], {identity: [LineRange(start_line=5, end_line=5)]})
    assert "centred = values" in narrowed.code
    assert "def measure" not in narrowed.code
    assert not any("nothing" in remark for remark in narrowed.remarks)


def test_what_a_component_was_made_from_is_named_and_not_shown_again() -> None:
    found = material(codebase_of(FILES), [symbol("core.py::measure")], {}, {symbol("core.py::spread"): "Spread"})
    assert "def spread" not in found.code
    assert "Not shown again, since the component Spread was made from it: core.py::spread" in found.remarks


def test_examples_and_pointers_of_a_docstring_are_left_out() -> None:
    lines = ["Does.", "", "Parameters", "----------", "a : int, default 3", "", "Examples", "--------", ">>> A(3)", "3"]
    code = "\n    ".join(["class A:", f'"""{lines[0]}', *lines[1:], '"""', "x = 1\n"])
    shown = with_short_docstrings(code, {"A"})
    assert "default 3 …" in shown
    assert ">>>" not in shown
    assert compile(shown, "a.py", "exec")
