from xkg.agents.workspace.program.outline import Outline, outline

TEXT = '''"""A module."""
import os


@staticmethod
def outer(
    x=1,
):
    """What it does."""
    return x


class Model:
    def inner(self):
        return os


if True:
    def late():
        pass
'''


def test_steps_are_lines_that_do_something_when_they_run() -> None:
    found = outline(TEXT)
    assert {1, 2, 10, 15} <= found.executable
    assert found.steps == {10, 15, 18, 20}


def test_what_is_no_python_has_none() -> None:
    assert outline("print 1\n") == outline("x = \0") == outline("(" * 100_000) == Outline()
