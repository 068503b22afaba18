import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.build.codebases import MADE, codebase_of, run, symbol
from tests.build.slicing.slices import sliced, undefined
from xkg.build.code.codebase import Codebase
from xkg.build.code.repository import parse_repository
from xkg.build.repositories.checkout import fetch_repository
from xkg.build.slicing.slice import Slice, slice_symbols
from xkg.model import LineRange

TANGLED = Path(__file__).parents[2] / "data" / "repos" / "tangled"


@pytest.fixture(scope="module")
def tangled() -> Codebase:
    return parse_repository(fetch_repository(str(TANGLED), Path("unused")))


# The package and the slice of a symbol must give the same result for the same expression.
CASES = [
    ("src/tangled/model.py::Model.step", "Model().step(4)", "tangled.model"),
    ("src/tangled/model.py::Model", "Model().state()", "tangled.model"),
    ("src/tangled/model.py::Model", "Model.names + [Model.offset]", "tangled.model"),
    ("src/tangled/model.py::build", "[build(0), build(1).run(2)]", "tangled.model"),
    ("src/tangled/trainer.py::Trainer", "Trainer().make()", "tangled.trainer"),
    ("src/tangled/trainer.py::Trainer.by_name", "[Trainer().by_name(n) for n in ('sum', 'load')]", "tangled.trainer"),
    ("src/tangled/trainer.py::finish", "finish(3)", "tangled.trainer"),
    ("src/tangled/parts/loading.py::load", "load(3)", "tangled.parts.loading"),
    ("src/tangled/parts/scaling.py::scale", "scale(2)", "tangled.parts.scaling"),
    ("src/tangled/config.py::separator", "separator()", "tangled.config"),
    ("src/tangled/config.py::tick", "[tick(), tick()]", "tangled.config"),
    ("src/tangled/config.py::LIMIT", "LIMIT", "tangled.config"),
    ("src/tangled/config.py::SEEDED", "SEEDED", "tangled.config"),
    ("src/tangled/config.py", "[TABLE, LIMIT, depth, compute(9)]", "tangled.config"),
    ("src/tangled/slow.py::even", "[even(3), odd(3)]", "tangled.slow"),
    ("src/tangled/base.py::Identity", "Identity().run(3)", "tangled.base"),
    ("src/tangled/registry.py::alias", "alias('a', 'number') or KNOWN['a'](2)", "tangled.registry"),
    ("src/tangled/utils.py::sum", "sum([1])", "tangled.utils"),
    ("scripts/run.py::scaled", "scaled(3)", "run"),
]

_EVALUATE = """
import importlib, json, sys
folders, cases = json.load(sys.stdin)
sys.path[:0] = folders
found = []
for expression, module in cases:
    for name in [n for n in sys.modules if n.split(".")[0] in ("tangled", "run")]:
        del sys.modules[name]  # every case finds the package as it is imported first
    found.append(repr(eval(expression, vars(importlib.import_module(module)))))
print(json.dumps(found))
"""


def test_slices_of_a_tangled_package_give_what_the_package_gives(tangled: Codebase, tmp_path: Path) -> None:
    cases = []
    for number, (name, expression, _) in enumerate(CASES):
        result = slice_symbols(tangled, [f"{tangled.repository.id}:{name}"])
        assert not result.missing
        assert not result.refused
        assert undefined(result.source) == []
        (tmp_path / f"slice{number}.py").write_text(result.source)
        cases.append((expression, f"slice{number}"))

    def evaluate(folders: list[Path], cases: list[tuple[str, str]]) -> list[str]:
        given = json.dumps([[str(f) for f in folders], cases])
        done = subprocess.run(
            [sys.executable, "-B", "-c", _EVALUATE], input=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found: list[str] = json.loads(done.stdout)
        return found

    expected = evaluate([TANGLED / "src", TANGLED / "scripts"], [(e, m) for _, e, m in CASES])
    assert evaluate([tmp_path], cases) == expected


def test_every_symbol_of_the_tangled_package_slices(tangled: Codebase) -> None:
    refused = set()
    for identity, source in tangled.symbols().items():
        result = slice_symbols(tangled, [identity])
        if result.refused:
            refused.add(source.symbol.path)
        else:
            assert not result.missing, identity
            assert undefined(result.source) == [], identity
    assert refused == {
        "scripts/cut.py",
        "scripts/tool.c",
        "src/tangled/__init__.py",
        "src/tangled/parts/__init__.py",
    }


def test_parts_are_headed_by_path_lines_and_commit_and_are_as_written() -> None:
    files = {
        "a.py": "import os\n\n\n# why\ndef f(x):\n    return  x+1   # odd   spacing\n",
        "b.py": "from a import f\nGO = f\n",
    }
    result = sliced(files, "b.py::GO")
    first = "# --- a.py:5-6 @ 0123456\n# why\ndef f(x):\n    return  x+1   # odd   spacing\n"
    assert result.source == first + "\n# --- b.py:2-2 @ 0123456\nGO = f\n"
    assert result.derived_from == ("local:made@0123456789:b.py::GO", "local:made@0123456789:a.py::f")


def test_what_is_not_needed_stays_out() -> None:
    files = {
        "m.py": "import os, json\nimport argparse\nargs = argparse.ArgumentParser().parse_args()\nprint('loud')\n"
        "def f():\n    return json.dumps(1)\ndef g():\n    return os.sep\nif __name__ == '__main__':\n    f()\n"
    }
    assert sliced(files, "m.py::f").source == (
        "import json\n\n# --- m.py:5-6 @ 0123456\ndef f():\n    return json.dumps(1)\n"
    )


@pytest.mark.parametrize(
    ("settings", "kept", "left_out"),
    [
        ("import random\nrandom.seed(3)\nrandom.shuffle([1])\n", "random.seed(3)", "shuffle"),
        (
            "import argparse, random\nopt = argparse.ArgumentParser().parse_args()\nrandom.seed(opt.seed)\n",
            "def f",
            "argparse",
        ),
    ],
)
def test_settings_of_a_used_package_come_along_unless_the_command_gives_them(
    settings: str, kept: str, left_out: str
) -> None:
    source = sliced({"m.py": f"{settings}def f():\n    return random.random()\n"}, "m.py::f").source
    assert kept in source
    assert left_out not in source


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


def test_packages_are_third_party_imports_wherever_they_stand() -> None:
    files = {
        "m.py": "import numpy.linalg\ntry:\n    import yaml\nexcept ImportError:\n    yaml = None\n"
        "def f():\n    import scipy.stats as s\n    from os import path\n    return numpy.linalg, yaml, s, path\n"
    }
    assert sliced(files, "m.py::f").packages == ("numpy", "scipy", "yaml")


def test_the_limit_cuts_what_lies_furthest() -> None:
    body = "".join(f"    x += {i}\n" for i in range(30))
    files = {"m.py": f"def far(x):\n{body}\ndef near(x):\n    return far(x)\ndef f(x):\n    return near(x)\n"}
    result = sliced(files, "m.py::f", max_lines=20)
    assert result.cut == ("local:made@0123456789:m.py::far",)
    assert "def near" in result.source
    assert "def far" not in result.source


def test_python_2_comes_in_python_3_s_syntax_with_a_note(tangled: Codebase) -> None:
    result = slice_symbols(tangled, [f"{tangled.repository.id}:scripts/old.py::shout"])
    assert 'print("loud", text)' in result.source
    assert "except ValueError as error:\n        return repr(error)" in result.source
    assert any("scripts/old.py is Python 2" in note for note in result.notes)


def test_a_broken_statement_leaves_the_others_of_its_file_as_they_are() -> None:
    text = "import math\n\n\ndef broken((x, y)):\n    print x\n\n\ndef sound(x):\n    return math.sqrt(x)\n"
    made = sliced({"a.py": text}, "a.py::sound")
    assert run(made.source)["sound"](4) == 2
    assert "broken" not in made.source
    refused = sliced({"a.py": text}, "a.py::broken")
    assert refused.source == ""
    assert "a.py" in refused.refused


# --- generated packages -----------------------------------------------------------------------------------------------

FUNCTIONS, CONSTANTS, CLASSES = ("f", "g", "load"), ("K", "SIZE"), ("Net", "Base")


@st.composite
def packages(draw: st.DrawFn) -> tuple[dict[str, str], str]:
    """Generates modules that import earlier modules in every style. Functions may also import any module lazily. All
    functions take one number and count it down, so every call ends."""
    count = draw(st.integers(2, 4))
    circular = draw(st.booleans())  # circular imports are safe only if no function is called during an import
    paths = [draw(st.sampled_from([f"m{i}", f"sub/m{i}"])) for i in range(count)]
    defined = [
        sorted(draw(st.sets(st.sampled_from(FUNCTIONS + CONSTANTS + CLASSES), min_size=2)) | {FUNCTIONS[i % 3]})
        for i in range(count)
    ]
    files = {"pkg/__init__.py": "", "pkg/sub/__init__.py": ""}
    for i in range(count):
        lines: list[str] = []
        calls: list[str] = []

        def importing(j: int, name: str, indent: str, i: int = i) -> tuple[str, str]:
            module = f"pkg.{paths[j].replace('/', '.')}"
            parent, _, leaf = module.rpartition(".")
            dots = "." * (1 + paths[i].count("/"))
            relative = f"{dots}{paths[j].replace('/', '.')}"
            styles = [
                (f"from {relative} import {name}", name),
                (f"from {relative} import {name} as other_{name}", f"other_{name}"),
                (f"import {module} as mod", f"mod.{name}"),
                (f"from {parent} import {leaf}", f"{leaf}.{name}"),
                (f"import {module}", f"{module}.{name}"),
            ]
            if not indent:
                styles.append((f"from {relative} import *", name))
            line, expression = draw(st.sampled_from(styles))
            return indent + line, expression

        def value(expression: str, name: str, argument: str) -> str:
            if name in FUNCTIONS:
                return f"{expression}({argument})"
            return expression if name in CONSTANTS else f"{expression}({argument}).total()"

        for _ in range(draw(st.integers(0, 3)) if i else 0):
            j = draw(st.integers(0, i - 1))
            name = draw(st.sampled_from(defined[j]))
            line, expression = importing(j, name, "")
            lines.append(line)
            calls.append(value(expression, name, "{}"))
        for name in draw(st.permutations(defined[i])):
            k = draw(st.integers(0, 9))
            used = draw(st.lists(st.sampled_from(calls), max_size=2)) if calls else []
            inner = " + ".join([str(k), *(c.format("n - 1") for c in used)])
            if name in CONSTANTS:
                outer = " + ".join([str(k), *(c.format("1") for c in used if not circular or "{}" not in c)])
                lines.append(
                    draw(st.sampled_from([f"{name} = {outer}", f"{name} = sum([{outer} for load in range(2)])"]))
                )
                continue
            body = [f"    if n <= 0: return {k}"]
            if (circular or i) and draw(st.booleans()):
                j = draw(st.integers(0, count - 1 if circular else i - 1))
                other = draw(st.sampled_from(defined[j]))
                line, expression = importing(j, other, "    ")
                body.append(line)
                inner += " + " + value(expression, other, "n - 1")
            local = draw(st.sampled_from(["g", "x", "K"]))
            if local not in inner and f"other_{local}" not in inner:
                body.append(f"    {local} = [n for {local} in range(2)][0]")
            body.append(f"    return {inner}")
            if name in FUNCTIONS:
                lines += [f"def {name}(n):", *body]
            else:
                lines += [f"class {name}:", "    def __init__(self, n): self.n = n", "    def total(self):"]
                lines += ["        n = self.n", *("    " + line for line in body)]
            calls.append(value(name, name, "{}"))
        files[f"pkg/{paths[i]}.py"] = "\n".join(lines) + "\n"
    return files, paths[-1]


@settings(
    max_examples=25,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking whole packages would take minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(packages())
def test_a_slice_computes_the_same(tmp_path_factory: pytest.TempPathFactory, made: tuple[dict[str, str], str]) -> None:
    files, last = made
    folder = tmp_path_factory.mktemp("package")
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    codebase = codebase_of(files)
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        for source in codebase.symbols().values():
            symbol = source.symbol
            if symbol.kind not in ("function", "class", "constant") or f"pkg/{last}.py" != symbol.path:
                continue
            try:
                module = importlib.import_module("pkg." + last.replace("/", "."))
                expected = _value(getattr(module, symbol.qualified_name))
            except (AttributeError, ImportError, NameError, TypeError, UnboundLocalError, RecursionError):
                continue  # the generated package itself does not work
            result = slice_symbols(codebase, [symbol.id])
            assert not result.missing, result.missing
            assert _value(run(result.source)[symbol.qualified_name]) == expected, result.source
    finally:
        sys.path.remove(str(folder))
        for name in [n for n in sys.modules if n == "pkg" or n.startswith("pkg.")]:
            del sys.modules[name]


def _value(thing: Any) -> Any:
    if isinstance(thing, int):
        return thing
    return thing(3).total() if isinstance(thing, type) else thing(3)


@pytest.mark.parametrize("package", ["import xml.etree as tree", "from xml import etree as tree"])
def test_a_submodule_that_is_reached_through_another_name_is_imported(package: str) -> None:
    source = (
        f"{package}\nimport xml.etree.ElementTree\n\ndef f(text):\n    return tree.ElementTree.fromstring(text).tag\n"
    )
    cut = sliced({"m.py": source}, "m.py::f")
    assert "import xml.etree.ElementTree\n" in cut.source
    assert run(cut.source)["f"]("<a/>") == "a"
    taken = sliced({"m.py": f"{source}\nxml = 1\n\ndef g():\n    return f, xml\n"}, "m.py::g").source
    assert run(taken)["g"]()[1] == 1


def test_what_is_cut_for_length_has_its_signature() -> None:
    files = {
        "a.py": "from b import Big, far\n\nclass A:\n    def f(self, n=1):\n        return Big(far(n))\n",
        "b.py": "class Big:\n    size: int = 3\n    def g(self, x=2):\n        '''Adds. More.'''\n"
        + "        x = 1\n" * 30
        + "\ndef far(n):\n    return n\n",
    }
    result = sliced(files, "a.py::A.f", max_lines=20)
    assert [identity.rpartition("::")[2] for identity in result.cut] == ["Big"]
    assert result.outlines == ("class Big", "    size: int = 3", "    def g(self, x=2)  # Adds.")
    assert "def far" in result.source


# --- packages installed elsewhere -------------------------------------------------------------------------------------

WALK = """import numpy as np

def check(x):
    return np.isfinite(x).all()

class Walk:
    def propose(self, points, others):
        scale = self.pick(others) * len(points)
        return check(scale * points)

    def pick(self, others):
        return len(others)

    def run(self, points):
        return self.propose(points, points)

def area(width, height):
    return check(width) * height

def perimeter(width, height):
    return 2 * (width + area(width, height))
"""


def without(name: str, *ready: str) -> Slice:
    ids = [symbol(f"walk.py::{each}") for each in ready]
    return slice_symbols(codebase_of({"walk.py": WALK}), [symbol(f"walk.py::{name}")], ready=ids)


def test_a_function_that_is_ready_elsewhere_is_left_out_with_what_only_it_needs() -> None:
    whole, cut = without("perimeter"), without("perimeter", "area")
    assert "def area" in whole.source
    assert "def check" in whole.source
    assert "def area" not in cut.source
    assert "def check" not in cut.source
    assert cut.missing == {}


def test_a_method_that_is_ready_elsewhere_is_left_out_of_its_class() -> None:
    found = without("Walk", "Walk.propose")
    assert "# left out: def propose(self, points, others)" in found.source
    assert "scale =" not in found.source
    assert "def run" in found.source
    run(found.source)
    assert [(at.start_line, at.end_line) for at in found.gaps["walk.py"]] == [(7, 9)]
    assert without("perimeter").gaps == {}
