"""What a check is shown beside the lines of a module."""

from tests.build.slicing.test_slice import codebase_of
from xkg.build.guided.coding.beside import other_places

LONG = "def long(x):\n" + "".join(f"    x = x + {i}  # a step of many\n" for i in range(400)) + "    return x\n"
CODEBASE = codebase_of(
    {"a.py": "def first(x):\n    return x\n", "b/c.py": "y = 1\n\ndef second(x):\n    return -x\n", "d.py": LONG}
)


def symbol(name: str) -> str:
    return f"local:made@0123456789:{name}"


def test_located_places_that_were_not_used_are_shown_with_their_file() -> None:
    located = [symbol("a.py::first"), symbol("b/c.py::second"), symbol("d.py::long")]
    shown = other_places(CODEBASE, located, located[:1])
    assert shown.startswith("# --- b/c.py:3-4\ndef second(x):\n    return -x\n")
    assert "def first" not in shown
    assert shown.endswith("Not shown, for their length: long\n")
    assert other_places(CODEBASE, located, located) == ""
