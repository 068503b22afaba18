"""Slices of some lines of a function, and without what is ready elsewhere."""

from typing import Any

from tests.build.slicing.test_slice import codebase_of, without_marks
from xkg.build.slicing.slice import Slice, slice_symbols
from xkg.model import LineRange

FILES = {
    "walk.py": '''import numpy as np

def check(x):
    return np.isfinite(x).all()

class Base:
    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.unrelated = open

class Walk(Base):
    def __init__(self, seed, a):
        super().__init__(seed)
        self.a = a
        self.log = []

    def propose(self, points, others):
        """Moves."""
        count = len(points)
        partner = self.pick(others)
        scale = (self.a - 1) * self.random.rand(count)
        moved = others[partner] + scale * points
        assert check(moved)
        return moved

    def pick(self, others):
        return self.random.randint(len(others))

    def run(self, points):
        steps = 0
        for i in range(3):
            if i == 2:
                points = self.propose(points, points)
                steps += 1
        return steps


def area(width, height):
    rounded = round(width)
    if rounded:
        size = rounded * height
    else:
        size = check(height)
    return size


def perimeter(width, height):
    return 2 * (width + area(width, height))


def interleaved(left, right, first):
    total = len(left) + len(right)
    plt = check(total)
    woven = np.zeros(total)
    for k in range(total):
        if k % 2 == first:
            woven[k] = left[k // 2]
        else:
            woven[k] = right[k // 2]
    if first == 1:
        woven = -woven
    plt.figure()
    plt.plot(woven)
    plt.close()
    done = woven.sum()
    woven = None
    woven = check(woven)
    return done


def descend(x, slope, trace):
    rate = 0.1
    seen = 0
    for k in range(9):
        x = x - rate * slope(x)
        seen += 1
        rate *= 0.5
    trace.append(x)
    report = figure(trace)
    rate = None
    return x
''',
}
PREFIX = "local:made@0123456789:walk.py::"


def sliced(*symbols: str, lines: dict[str, str] | None = None, ready: tuple[str, ...] = ()) -> Slice:
    """`lines` maps a symbol to the beginning of a line of it."""
    text = FILES["walk.py"].split("\n")
    ranges: dict[str, list[LineRange]] = {}
    for symbol, beginning in (lines or {}).items():
        number = next(i for i, line in enumerate(text, 1) if line.strip().startswith(beginning))
        ranges[f"{PREFIX}{symbol}"] = [LineRange(start_line=number, end_line=number)]
    codebase = codebase_of(FILES)
    return slice_symbols(
        codebase, [f"{PREFIX}{s}" for s in symbols], lines=ranges, ready=[f"{PREFIX}{s}" for s in ready]
    )


def names(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source, "sliced.py", "exec"), namespace)
    return namespace


def test_some_lines_of_a_method_come_with_what_sets_what_they_read_and_takes_up_what_they_make() -> None:
    source = sliced("Walk.propose", lines={"Walk.propose": "scale ="}).source
    assert "scale = (self.a - 1) * self.random.rand(count)" in source
    assert "count = len(points)" in source
    assert "self.a = a" in source
    assert "RandomState(seed)" in source
    assert "moved = others[partner] + scale * points" in source
    assert "self.log" not in without_marks(source)
    assert "def pick" not in source.replace("# left out: def pick", "")
    names(source)


def test_what_lines_that_only_set_a_value_call_is_not_followed() -> None:
    source = sliced("Walk.run", lines={"Walk.run": "steps += 1"}).source
    assert "steps += 1" in source
    assert "if i == 2:" in source
    assert "steps = 0" in source
    assert "def propose" not in source.replace("# left out: def propose", "")
    narrowed = sliced("area", lines={"area": "return size"}).source
    assert "size = check(height)" in narrowed
    assert "def check" not in narrowed


def of_notebook(*beginnings: str) -> str:
    text = (
        "import numpy as np\nimport matplotlib.pyplot as plt\n\ndef solve(w, x):\n    return np.linalg.solve(w, x)\n\n"
        "def show(x):\n    plt.plot(x)\n\nnum = 3\nw = np.eye(num)\nshow(w)\nfit = solve(w, w)\nerrors = []\n"
        "for n in range(num):\n    errors.append(fit[n])\n    show(errors)\ntimes = show(fit)\n"
    )
    numbers = [i for i, line in enumerate(text.split("\n"), 1) if any(line.startswith(b) for b in beginnings)]
    whole = "local:made@0123456789:demo.py"
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


def test_lines_that_do_not_hold_a_statement_narrow_nothing() -> None:
    assert sliced("area", lines={"area": "else:"}).source.count("size") == sliced("area").source.count("size")


def test_a_function_that_is_ready_elsewhere_is_left_out_with_what_only_it_needs() -> None:
    whole, without = sliced("perimeter"), sliced("perimeter", ready=("area",))
    assert "def area" in whole.source
    assert "def check" in whole.source
    assert "def area" not in without.source
    assert "def check" not in without.source
    assert without.missing == {}


def test_a_method_that_is_ready_elsewhere_is_left_out_of_its_class() -> None:
    source = sliced("Walk", ready=("Walk.propose",)).source
    assert "# left out: def propose(self, points, others)" in source
    assert "scale =" not in source
    assert "def run" in source
    assert "def pick" in source
    assert "self.log = []" in source
    names(source)


def test_what_fills_the_array_of_a_line_comes_with_it() -> None:
    source = sliced("interleaved", lines={"interleaved": "woven = np.zeros"}).source
    assert "woven[k] = left[k // 2]" in source
    assert "woven[k] = right[k // 2]" in source
    assert "woven = -woven" in source
    assert "done = woven.sum()" in source
    assert "plot" not in without_marks(source)


def test_what_a_later_line_of_the_same_loop_sets_for_the_next_round_comes_with_it() -> None:
    source = sliced("descend", lines={"descend": "x = x"}).source
    assert "rate *= 0.5" in source
    assert "rate = None" not in source


def test_what_is_left_out_is_named_by_what_it_sets_and_calls() -> None:
    source = sliced("descend", lines={"descend": "x = x"}).source
    assert "# … 3 lines left out, which set report, rate, call append, figure\n" in source


def test_a_line_or_two_between_others_are_not_left_out() -> None:
    source = sliced("descend", lines={"descend": "x = x"}).source
    assert "seen += 1" in source
    assert "1 line left out" not in source


def test_the_lines_that_are_left_out_are_told() -> None:
    found = sliced("descend", lines={"descend": "x = x"})
    text = FILES["walk.py"].split("\n")
    left_out = [text[n - 1].strip() for at in found.gaps["walk.py"] for n in range(at.start_line, at.end_line + 1)]
    assert left_out == ["trace.append(x)", "report = figure(trace)", "rate = None"]
    assert sliced("perimeter").gaps == {}
