"""Which components a module includes."""

from xkg.build.guided.checking.component_use import uncalled
from xkg.build.slicing.compose import Part, compose


def test_a_part_whose_code_is_in_the_module_is_called_whoever_it_is_attributed_to() -> None:
    parts = [
        Part("A", "def f(x):\n    return x + 1\n"),
        Part("B", "def f(x):\n    return x + 1\n"),
        Part("C", "C = 1\n"),
    ]
    assert uncalled(compose("def g(x):\n    return f(x) * 2\n", parts), parts) == [2]
    assert uncalled(compose("def g(x):\n    return x * 2\n", parts), parts) == [0, 1, 2]
