from tests.build.codebases import codebase_of
from xkg.build.guided.reading.public_code import public_code, unreached

LONG = "def {}(x):\n    a = x\n    b = a\n    return b\n\n"


def test_code_of_vendored_packages_is_listed_last() -> None:
    files = {
        "apart/setup.py": "",
        "apart/apart/core.py": "".join(LONG.format(f"f{n}") for n in range(50)),
        "models.py": LONG.format("tidal"),
        "run_tide.py": LONG.format("pull") + "if __name__ == '__main__':\n    pull(1)\n",
    }
    first, second, *others = public_code(codebase_of(files))
    assert first.text == "models.py: def tidal(x)"
    assert second.text == "run_tide.py: def pull(x)"
    assert len(others) == 38


def test_code_that_no_technique_reaches_is_named() -> None:
    codebase = codebase_of({"m.py": "".join(LONG.format(name) for name in ("walk", "plot", "save"))})
    listed = [each.symbol for each in public_code(codebase)]
    assert unreached(codebase, listed, [listed[0]]) == ("m.py::plot", "m.py::save")


def test_scripts_are_listed_with_what_they_call_and_are_never_unreached() -> None:
    lines = "".join(f"{name} = load({name!r})\n" for name in ("counts", "hours", "rain"))
    script = f'"""Compares counters."""\nfrom m import pull\n\n{lines}if __name__ == "__main__":\n    pull(counts)\n'
    codebase = codebase_of({"m.py": LONG.format("pull"), "compare.py": script, "short.py": "print(1)\n"})
    first, second = public_code(codebase)
    assert first.text == "m.py: def pull(x)"
    assert second.text == "compare.py: script, Compares counters. Calls load, pull"
    assert unreached(codebase, [first.symbol, second.symbol], []) == ("m.py::pull",)
