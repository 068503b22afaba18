"""Slices of some lines of a file, and without what is ready elsewhere."""

from typing import Any

import pytest

from tests.build.codebases import MADE, codebase_of, symbol
from xkg.build.slicing.slice import Slice, slice_symbols
from xkg.model import LineRange

FILES = {
    "walk.py": '''import numpy as np

def check(x):
    return np.isfinite(x).all()

class Walk:
    def __init__(self, seed, a):
        self.random = np.random.RandomState(seed)
        self.a = a
        self.log = []

    def propose(self, points, others):
        """Moves."""
        partner = self.pick(others)
        scale = (self.a - 1) * self.random.rand(len(points))
        return check(others[partner] + scale * points)

    def pick(self, others):
        return self.random.randint(len(others))

    def run(self, points):
        return self.propose(points, points)


def area(width, height):
    return check(width) * height


def perimeter(width, height):
    return 2 * (width + area(width, height))
''',
}


def sliced(name: str, *ready: str) -> Slice:
    return slice_symbols(
        codebase_of(FILES), [symbol(f"walk.py::{name}")], ready=[symbol(f"walk.py::{each}") for each in ready]
    )


def names(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source, "sliced.py", "exec"), namespace)
    return namespace


def of_notebook(*beginnings: str) -> str:
    text = (
        "import numpy as np\nimport matplotlib.pyplot as plt\n\ndef solve(w, x):\n    return np.linalg.solve(w, x)\n\n"
        "def show(x):\n    plt.plot(x)\n\nnum = 3\nw = np.eye(num)\nshow(w)\nfit = solve(w, w)\nerrors = []\n"
        "for n in range(num):\n    errors.append(fit[n])\n    show(errors)\ntimes = show(fit)\n"
    )
    numbers = [i for i, line in enumerate(text.split("\n"), 1) if any(line.startswith(b) for b in beginnings)]
    whole = f"{MADE}:demo.py"
    ranges = {whole: [LineRange(start_line=n, end_line=n) for n in numbers]}
    return slice_symbols(codebase_of({"demo.py": text}), [whole], lines=ranges).source


def test_some_lines_of_a_whole_file_come_with_what_they_need() -> None:
    source = of_notebook("fit = solve")
    assert source.startswith("import numpy as np\n")
    for line in ("def solve(w, x):", "num = 3", "w = np.eye(num)", "fit = solve(w, w)"):
        assert line in source
    assert "plt" not in source
    assert "errors" not in source
    assert "times" not in source
    function = of_notebook("def solve")
    assert "return np.linalg.solve(w, x)" in function
    assert "fit" not in function
    loop = of_notebook("for n in range")
    assert "errors.append(fit[n])" in loop
    assert "times" not in loop
    assert of_notebook() == of_notebook("import numpy")


def test_a_function_that_is_ready_elsewhere_is_left_out_with_what_only_it_needs() -> None:
    whole, without = sliced("perimeter"), sliced("perimeter", "area")
    assert "def area" in whole.source
    assert "def check" in whole.source
    assert "def area" not in without.source
    assert "def check" not in without.source
    assert without.missing == {}


def test_a_method_that_is_ready_elsewhere_is_left_out_of_its_class() -> None:
    found = sliced("Walk", "Walk.propose")
    assert "# left out: def propose(self, points, others)" in found.source
    assert "scale =" not in found.source
    assert "def run" in found.source
    assert "def pick" in found.source
    names(found.source)
    assert [(at.start_line, at.end_line) for at in found.gaps["walk.py"]] == [(12, 16)]
    assert sliced("perimeter").gaps == {}


NESTED = '''import numpy as np

def make(sizes, width=3):
    """Makes the parts of a network."""
    shapes = {}
    names = [
        "a",
    ]
    for i, size in enumerate(sizes):
        shapes[i] = (size, width)
        print(size)

    def layer(x, i):
        return np.zeros(shapes[i]) + scale(x)

    if names:
        def report(names):
            return len(names)
    else:
        report = None

    total = 0
    for size in sizes:
        if size < 0:
            continue
        total += size
    area = total * width
    return area


def scale(x):
    return 2 * x
'''


@pytest.mark.parametrize(
    ("lines", "kept", "left_out"),
    [
        (
            (13, 14),
            ["shapes = {}", "shapes[i] = (size, width)", "return 2 * x"],
            ["print", "names", "total", "return area"],
        ),
        ((18, 18), ["if names:", "    names = [", "pass  # left out"], ["shapes", "total", "scale"]),
        ((27, 27), ["total = 0", "continue", "area = total * width", "return area"], ["shapes", "report"]),
        ((3, 26), ["print(size)", "report = None", "return area"], ["left out"]),
    ],
)
def test_some_lines_of_a_function_come_with_what_they_need(
    lines: tuple[int, int], kept: list[str], left_out: list[str]
) -> None:
    whole = "local:made@0123456789:net.py::make"
    at = LineRange(start_line=lines[0], end_line=lines[1])
    cut = slice_symbols(codebase_of({"net.py": NESTED}), [whole], lines={whole: [at]})
    assert [line for line in kept if line not in cut.source] == []
    assert [line for line in left_out if line in cut.source.replace("left out: lines", "gap")] == []
    assert callable(names(cut.source)["make"])
