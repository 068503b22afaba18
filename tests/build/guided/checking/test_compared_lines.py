from xkg.build.guided.checking.compared_lines import unrepeated

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
        e = d / y
        return self.scale * e

# --- left out for room
# class Base(object)
'''
MODULE = """import numpy as np


def power(x, y, scale):
    a = x + y
    b = a * y
    c = a - b
    d = c / x
    e = d / y
    return scale * e
"""


def test_what_the_module_has_is_not_sent_again() -> None:
    shown = unrepeated(LINES, MODULE, "the module")
    assert (
        '        a = x + y\n        # … 4 lines of the module, to "e = d / y"\n        return self.scale * e\n' in shown
    )
    assert "c = a - b" not in shown
    assert "left out for room" not in shown
    assert '"""The power. …"""' in shown
    assert "Many words" not in shown


def test_what_differs_by_one_letter_stays() -> None:
    shown = unrepeated(LINES, MODULE.replace("c = a - b", "c = a + b"), "the module")
    assert "        c = a - b\n" in shown
    assert "lines of the module" not in shown


def test_lines_in_another_block_are_not_the_same() -> None:
    indented = MODULE.replace("    c = a - b\n", "    if a:\n        c = a - b\n")
    assert "c = a - b" in unrepeated(LINES, indented, "the module")
