from pathlib import Path
from textwrap import dedent

from tests.build.slicing.test_slice import codebase_of
from xkg.build.grounding.index.identifier_words import stems
from xkg.build.grounding.index.symbol_index import Entry, SymbolIndex
from xkg.build.guided.coding.excerpts import excerpt, subject

LONG = '''
import functools

@functools.cache
def anneal(
    start: float,
    steps: int,
) -> list[float]:
    """Temperatures of an annealing run.

    More of it.
    """
    history = []
    first = start
    print("starting", start)
    log.info("run")
    a = 1
    b = 2
    c = 3
    d = 4
    e = 5
    f = 6
    g = 7
    temperature = start * 0.5
    h = 8
    i = 9
    j = 10
    for k in range(steps):
        history.append(temperature)
    return history

def short(x): return x + 1

class Box:
    """Holds."""

    size = 3

    def inside(self):
        """Says."""
        return self.size

    def other(self):
        return 2
'''


def entry(name: str, files: dict[str, str] | None = None) -> Entry:
    index = SymbolIndex(codebase_of(files or {"m.py": LONG}))
    return next(e for e in index.entries.values() if e.source.symbol.qualified_name == name)


def test_a_long_body_is_represented_by_its_most_informative_lines() -> None:
    text = excerpt(entry("anneal"), set(stems("the temperature is annealed")), 6, {})
    lines = text.split("\n")
    assert lines[0] == "def anneal( start: float, steps: int, ) -> list[float]"
    assert lines[1].strip() == '"""Temperatures of an annealing run."""'
    assert "    temperature = start * 0.5" in lines
    assert "        history.append(temperature)" in lines
    assert "    …" in lines
    assert "print" not in text
    assert "log.info" not in text
    assert "cache" not in text
    assert sum(line != "    …" for line in lines[2:]) == 6


def test_a_short_body_is_complete() -> None:
    assert excerpt(entry("short"), (), 3, {}).endswith("def short(x): return x + 1")
    text = excerpt(entry("Box"), (), 9, {})
    assert [line.strip() for line in text.split("\n")] == [
        "class Box",
        '"""Holds."""',
        "size = 3",
        "def inside(self):",
        "return self.size",
        "def other(self):",
        "return 2",
    ]


def test_parts_shown_elsewhere_are_replaced_by_a_reference() -> None:
    box = entry("Box")
    inner = entry("Box.inside").source.symbol
    text = excerpt(box, (), 9, {(inner.start_line, inner.end_line): "[7] def inside(self)"})
    assert "    [7] def inside(self)" in text.split("\n")
    assert "return self.size" not in text
    assert "return 2" in text


def test_lines_are_cut_and_a_script_has_no_signature() -> None:
    script = entry("", {"run.py": "x = '" + "a" * 500 + "'\n"})
    [line] = excerpt(script, (), 5, {}).split("\n")
    assert len(line) == 160
    assert line.endswith("…")


def test_other_languages_have_excerpts_too() -> None:
    source = dedent(
        """\
        // Adds.
        int add(int a, int b) {
          int sum = a + b;
          return sum;
        }
        """
    )
    text = excerpt(entry("add", {str(Path("a.cpp")): source}), (), 5, {})
    assert "return sum;" in text


def test_what_computes_goes_before_assertions_imports_and_what_is_returned() -> None:
    source = dedent(
        """\
        def update(samples, reg):
            import numpy as np
            from scipy.linalg import sqrtm
            assert len(samples.shape) == 2
            assert reg > 0
            B = samples.shape[0]
            xbar = np.mean(samples, axis=0)
            U = reg * xbar + (reg) / (1 + reg) * np.outer(xbar, xbar)
            mat = 4 * np.matmul(U, U)
            S = 2 * np.linalg.solve(sqrtm(mat).T, U.T)
            raise_it = None
            return mat, S, xbar
        """
    )
    text = excerpt(entry("update", {"m.py": source}), subject("The update solves for $S$ with U."), 4, {})
    assert [line.strip()[:6] for line in text.split("\n")[1:]] == ["…", "xbar =", "U = re", "mat = ", "S = 2 ", "…"]


def test_omitted_lines_leave_a_mark() -> None:
    source = "def f(x):\n    if x:\n        print(x)\n    y = x + 1\n    return y\n"
    lines = excerpt(entry("f", {"m.py": source}), (), 9, {}).split("\n")
    assert [line.strip() for line in lines[1:]] == ["if x:", "…", "y = x + 1", "return y"]
