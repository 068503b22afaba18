import pytest

from tests.agents.ablation.space.spaces import METRIC, changed_text, of, space_of
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.space import find_space
from xkg.agents.ablation.task import parse_metric


@pytest.mark.parametrize(
    "text", ["def f(:\n", "x = " + "(" * 5000 + ")" * 5000, "\0", "x = 1\n" * 10 + "\u2028é = 2\n"]
)
def test_sources_that_are_no_python_are_refused_and_never_crash(text: str) -> None:
    try:
        source = PythonSource("a.py", text)
    except SyntaxError:
        return
    find_space([source], [], {"a.py": text}, parse_metric(METRIC))


def test_offsets_count_characters_whatever_the_line_ends() -> None:
    text = 'NAME = "é€"\r\nRATE = 0.5  # ü\r\n'
    [off, *_] = of(space_of(text), "RATE")
    assert changed_text(off, text) == 'NAME = "é€"\r\nRATE = 0.0  # ü\r\n'
