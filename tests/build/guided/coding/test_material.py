from tests.build.codebases import codebase_of, symbol
from xkg.build.guided.coding.material import MAX_BYTES, material

FILES = {
    "rates.py": '''import numpy as np

FLOOR = 1e-8

def decay(step):
    """Decays."""
    return np.maximum(FLOOR, np.exp(-step))

def alone():
    return 1
''',
    "old.py": "import os, scipy\nfrom rates import decay\n\n"
    "def speak((x, y)):\n    print x\n\ndef shout(x):\n    print x, '!'\n",
    "fast.cpp": "int add(int a, int b) {\n  return a + b;\n}\n",
    "long.py": "\n".join(
        ["def main():", "    return " + " + ".join(f"part{i}()" for i in range(60)), ""]
        + [f"def part{i}():\n    x = '{'y' * 1500}'\n    return {i}\n" for i in range(60)]
    ),
    "huge.py": "def huge():\n"
    + "    x = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'\n" * 1400
    + "    return x\n",
}


def material_of(*symbols: str):  # type: ignore[no-untyped-def]
    return material(codebase_of(FILES), [symbol(s) for s in symbols])


def short(identities: tuple[str, ...]) -> list[str]:
    return [identity.rpartition(":")[2] for identity in identities]


def test_places_without_room_are_named() -> None:
    found = material_of("rates.py::decay", "huge.py::huge", "rates.py::alone")
    assert short(found.used) == ["decay", "alone"]
    assert "# also located: huge.py:1-1402 huge" in found.code
    assert "Also located, but omitted to save space: huge.py::huge" in found.remarks


def test_a_long_slice_is_cut_to_the_limit_and_says_what_is_missing() -> None:
    found = material_of("long.py::main")
    assert len(found.code.encode()) <= MAX_BYTES
    assert "def main" in found.code
    assert any("omitted to save space" in remark and "part" in remark for remark in found.remarks)
    huge = material_of("huge.py::huge")
    assert len(huge.code.encode()) <= MAX_BYTES
    assert huge.code.endswith("\n")
    assert any("cut off" in remark for remark in huge.remarks)


def test_code_that_cannot_be_sliced_is_unchanged() -> None:
    found = material_of("old.py::shout")
    assert "print x, '!'" in found.code
    assert "def speak" in found.code
    assert found.packages == ("scipy",)
    other = material_of("fast.cpp::add", "rates.py::alone")
    assert "// --- fast.cpp:1-4 @ 0123456 (cpp, as in its file)\nint add" in other.code
    assert "def alone" in other.code
    assert any("write it in Python" in remark for remark in other.remarks)
    assert short(other.used) == short(other.sources) == ["alone", "add"]


def documented(name: str, calls: str, lines: int, remarks: int) -> str:
    text = "\n".join(f"    Remark {n} about what it takes and gives back." for n in range(remarks))
    body = "\n".join(f"    x = x * {n} + {name}_weight(x, {n})" for n in range(lines))
    return f"def {name}(x):\n    '''Does {name}.\n\n{text}\n    '''\n{body}\n    return {calls or 'x'}\n\n"


def test_long_docstrings_do_not_cost_a_place_the_functions_that_it_calls() -> None:
    text = documented("outer", "middle(x)", 90, 80) + documented("middle", "inner(x)", 90, 80)
    text += documented("inner", "", 90, 80)
    found = material(codebase_of({"a.py": text}), [symbol("a.py::outer")])
    assert all(f"def {name}(x):" in found.code for name in ("outer", "middle", "inner"))
    assert not any("omitted to save space" in remark for remark in found.remarks)
    assert "Remark 70 about" in found.code.partition("def outer")[2]
    assert "Remark 70 about" not in found.code.partition("def outer")[0]


def test_only_what_is_left_out_is_said_not_to_be_shown_again() -> None:
    text = "def base(x):\n    return x * x\n\n\nclass B:\n    def base(self):\n        return 1\n\n\n"
    text += "def f(x):\n    def g(y):\n        return y + B().base() + base(x)\n    return g(x)\n"
    codebase, top = codebase_of({"a.py": text}), "local:made@0123456789:a.py::"
    ready = {f"{top}base": "Base", f"{top}f.g": "Inner", f"{top}B.base": "Method"}
    found = material(codebase, [f"{top}f"], {}, ready)
    assert "x * x" not in found.code
    assert "def g(y)" in found.code
    [remark] = [each for each in found.remarks if "Not shown again" in each]
    assert "Base" in remark


def test_of_vendored_packages_there_are_outlines() -> None:
    files = {
        "gp/setup.py": "import setuptools\n",
        "gp/__init__.py": "",
        "gp/kernel.py": "def covar(x):\n    return x * x\n",
        "model.py": "from gp.kernel import covar\n\ndef fit(x):\n    return covar(x) + 1\n",
    }
    found = material(codebase_of(files), [symbol("model.py::fit")])
    assert "x * x" not in found.code
    assert "# def covar(x)" in found.code
    assert "x * x" in material(codebase_of(files), [symbol("gp/kernel.py::covar")]).code
