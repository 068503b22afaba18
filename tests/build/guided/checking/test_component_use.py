"""Which components a module includes, and which a text names."""

import pytest

from xkg.build.guided.checking.component_use import named, uncalled
from xkg.build.slicing.compose import Part, compose


@pytest.mark.parametrize(
    ("name", "text", "is_named"),
    [
        ("Momentum target", "The loss is taken against a momentum target.", True),
        ("Momentum targets", "A target with momentum is followed.", True),
        ("Momentum target", "Momentum is 0.9. The target is fixed.", False),
        ("Rise", "It comprises two parts.", False),
        ("RISE", "We call rise first.", True),
    ],
)
def test_a_name_is_found_literally_or_by_its_words_in_one_sentence(name: str, text: str, is_named: bool) -> None:
    assert named([name], text) == [name] * is_named


def test_a_part_whose_code_is_in_the_module_is_called_whoever_it_is_attributed_to() -> None:
    parts = [
        Part("A", "def f(x):\n    return x + 1\n"),
        Part("B", "def f(x):\n    return x + 1\n"),
        Part("C", "C = 1\n"),
    ]
    assert uncalled(compose("def g(x):\n    return f(x) * 2\n", parts), parts) == [2]
    assert uncalled(compose("def g(x):\n    return x * 2\n", parts), parts) == [0, 1, 2]
