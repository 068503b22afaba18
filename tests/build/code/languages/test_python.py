import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.code.codebase import Module, SourceSymbol
from xkg.build.code.languages.python import analyse

SOURCE = '''\
# -*- coding: utf-8 -*-
"""About é."""
import numpy as np, os.path
from .m import (f as g,
                h)
SIZE = 3  # how big
scale = compute(SIZE)
tmp = 1
# above
# the class
@dec(x=1)
class K(Base, m.Other):
    """K doc
       and more"""
    attr = helper(3)
    async def meth(self, y: "T" = DEF,
                   *rest) -> int:  # says
        z = self.other(y) + np.linalg.norm(scale)
        def nested(q): return q + free
        return [t for t in z if g(t, key=1)]
    class In:
        def deep(self): pass
if SIZE:
    def twice(): pass
else:
    def twice(a, b=2): return f"{a} {b!r} {other(b)}"
'''


def parsed(source: str = SOURCE) -> tuple[Module, dict[str, SourceSymbol]]:
    module = analyse("p/m.py", source, "R").module
    return module, {s.symbol.id: s for s in module.symbols}


def test_symbols_with_lines_and_signatures() -> None:
    module, symbols = parsed()
    found = {i: (s.symbol.kind, s.symbol.start_line, s.symbol.end_line) for i, s in symbols.items()}
    assert found == {
        "R:p/m.py": ("module", 1, 26),
        "R:p/m.py::SIZE": ("constant", 6, 6),
        "R:p/m.py::scale": ("constant", 7, 7),
        "R:p/m.py::K": ("class", 11, 22),
        "R:p/m.py::K.meth": ("method", 16, 20),
        "R:p/m.py::K.meth.nested": ("function", 19, 19),
        "R:p/m.py::K.In": ("class", 21, 22),
        "R:p/m.py::K.In.deep": ("method", 22, 22),
        "R:p/m.py::twice": ("function", 24, 24),
        "R:p/m.py::twice-2": ("function", 26, 26),
    }
    assert symbols["R:p/m.py::K.meth"].symbol.signature == 'async def meth(self, y: "T" = DEF, *rest) -> int'
    assert symbols["R:p/m.py::K"].symbol.signature == "class K(Base, m.Other)"
    assert symbols["R:p/m.py::K.meth"].parent == "R:p/m.py::K"
    assert symbols["R:p/m.py"].docstring == "About é."
    assert symbols["R:p/m.py::K"].docstring == "K doc\nand more"
    assert symbols["R:p/m.py::K"].comments == "above\nthe class"
    assert symbols["R:p/m.py::K.meth"].comments == "says"
    assert not module.broken


def test_short_strings_that_are_statements_are_comments() -> None:
    taken_out = "x = 1\n    " * 100
    source = textwrap.dedent(
        f"""
        def step(x):
            # first
            'Shifts x.'
            'shift, Eqn. (7)'
            x = x + 1
            r'then "scale"'
            '''{taken_out}'''
            return x
        """
    )
    step = next(s for s in analyse("m.py", source, "R").module.symbols if s.symbol.qualified_name == "step")
    assert step.docstring == "Shifts x."
    assert step.comments == 'first\nshift, Eqn. (7)\nthen "scale"'


def test_used_names_leave_out_what_is_bound_around_them() -> None:
    assert analyse("p/m.py", SOURCE, "R").uses == {
        "compute", "SIZE", "dec", "Base", "m.Other", "helper", "DEF", "int", "np.linalg.norm", "scale", "free", "g",
        "other",
    }  # fmt: skip


def test_imports() -> None:
    module, _ = parsed(
        "import a.b as c\nimport d.e\nfrom ..f import g as h, i\nfrom . import *\ndef k():\n    import z\n"
    )
    assert [(i.name, i.module, i.attribute, i.line) for i in module.imports] == [
        ("c", "a.b", None, 1),
        ("d", "d.e", None, 2),
        ("h", "..f", "g", 3),
        ("i", "..f", "i", 3),
        ("*", ".", "*", 4),
        ("z", "z", None, 6),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    print 'loud', x\n\ndef g(y):\n    return y\n",
        "def f(x):\n    return (x +\n\ndef g(y):\n    return y\n",
        "def g(y):\n    return y\n\ndef f(x):\n    exec 'x'\n    raise E, 'x'\n",
    ],
)
def test_python_2_and_cut_files_give_what_can_be_had(source: str) -> None:
    module, symbols = parsed(source)
    assert module.broken
    assert {"R:p/m.py::f", "R:p/m.py::g"} <= set(symbols)


@pytest.mark.parametrize(
    "source",
    [
        "(" * 50_000,
        "x = " + "-" * 50_000 + "1",
        "a" + ".b" * 50_000,
        "".join(" " * i + "if 1:\n" for i in range(1500)),
        "class A:\n" + "".join(" " * i + "class A:\n" for i in range(1, 500)),
        "f(" * 20_000 + ")" * 20_000,
        "\0\0",
        "\ud800 = 1",
    ],
)
def test_hostile_nesting_ends_and_does_not_overflow(source: str) -> None:
    module, symbols = parsed(source)
    assert len(symbols) == len(module.symbols)


@given(st.text(alphabet=st.sampled_from("abd ():=\n\t,.[]{}'\"#@é\\*0:defclassimportfromlambda"), max_size=200))
def test_any_text_gives_lines_inside_of_it_and_unique_ids(text: str) -> None:
    module, symbols = parsed(text)
    lines = text.count("\n") + 1
    assert len(symbols) == len(module.symbols)
    for source in module.symbols:
        assert 1 <= source.symbol.start_line <= source.symbol.end_line <= lines
        assert source.parent is None or source.parent in symbols
