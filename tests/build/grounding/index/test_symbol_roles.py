import pytest

from tests.build.codebases import codebase_of
from xkg.build.grounding.index.symbol_index import SymbolIndex
from xkg.build.grounding.index.symbol_roles import role_factor

BODY = "    total = x * 2\n    total = total + 1\n    total = total / 3\n    return total\n"


@pytest.mark.parametrize(
    ("path", "name", "about", "held_back"),
    [
        ("model.py", "shift", (), False),
        ("model.py", "visual_prompt", (), False),
        ("model.py", "visualize_prompt", (), True),
        ("model.py", "plot_shift", (), True),
        ("model.py", "plot_shift", ("plot",), False),
        ("tests/model.py", "shift", (), True),
        ("data/loader.py", "shift", (), False),
        ("settings/model.py", "shift", (), True),
        ("cli.py", "shift", (), True),
        ("model.py", "set_criterion", (), False),
    ],
)
def test_a_role_in_path_or_name_holds_back(path: str, name: str, about: tuple[str, ...], held_back: bool) -> None:
    index = SymbolIndex(codebase_of({path: f"def {name}(x):\n{BODY}"}))
    entry = next(e for e in index.entries.values() if e.short_name == name)
    assert (role_factor(entry, frozenset(about)) < 1) == held_back


def test_a_notebook_comes_after_a_module() -> None:
    source = "".join(f'"{line}\\n",' for line in f"def shift(x):\n{BODY}".splitlines()).rstrip(",")
    cell = f'{{"cell_type": "code", "source": [{source}]}}'
    notebook = f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4}}'
    index = SymbolIndex(codebase_of({"demo.ipynb": notebook, "model.py": f"def shift(x):\n{BODY}"}))
    shifts = [entry for entry in index.entries.values() if entry.short_name == "shift"]
    factors = {entry.source.symbol.path: role_factor(entry, frozenset()) for entry in shifts}
    assert factors["demo.ipynb"] < factors["model.py"] == 1
