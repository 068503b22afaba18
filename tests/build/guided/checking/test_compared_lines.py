from xkg.build.guided.checking.compared_lines import unrepeated, with_unused_outlined

LINES = '''import numpy as np

# --- model.py:3-20 @ abc
class Model:
    def power(self, x, y):
        """The power.

        Many words about it.
        """
        a = x + y
        b = a * y
        c = a - b
        d = c / x
        return self.scale * d

# --- left out for room
# class Base(object)
'''
MODULE = """import numpy as np


def power(x, y, scale):
    a = x + y
    b = a * y
    c = a - b
    d = c / x
    return scale * d
"""


def test_what_the_module_has_is_not_sent_again() -> None:
    shown = unrepeated(LINES, MODULE)
    assert "        a = x + y\n        # … and 3 more as shown elsewhere\n        return self.scale * d\n" in shown
    assert "c = a - b" not in shown
    assert "left out for room" not in shown
    assert '"""The power. …"""' in shown
    assert "Many words" not in shown


def test_what_differs_by_one_letter_stays() -> None:
    shown = unrepeated(LINES, MODULE.replace("c = a - b", "c = a + b"))
    assert "        c = a - b\n" in shown
    assert "as shown elsewhere" not in shown


def test_lines_in_another_block_are_not_the_same() -> None:
    indented = MODULE.replace("    c = a - b\n", "    if a:\n        c = a - b\n")
    assert "c = a - b" in unrepeated(LINES, indented)


def test_of_functions_that_the_module_does_not_use_only_the_heads_are_sent() -> None:
    unused = (
        "    def load(self, path):\n        with open(path) as file:\n            text = file.read()\n"
        "        words = text.split()\n        self.words = [w.strip() for w in words]\n"
    )
    shown = with_unused_outlined(LINES.replace("\n# --- left out", f"\n{unused}\n# --- left out"), MODULE)
    assert "    def load(self, path):\n        # … 4 lines, left out\n" in shown
    assert "text.split()" not in shown
    assert "b = a * y" in shown
    assert with_unused_outlined("def f(:", MODULE) == "def f(:"
