from pathlib import Path

import pytest

from xkg.build.code.repository import parse_repository
from xkg.build.grounding.index.symbol_index import SymbolIndex
from xkg.build.grounding.index.symbol_roles import role_factor
from xkg.build.repositories.checkout import fetch_repository

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
        ("model.py", "set_criterion", (), False),
    ],
)
def test_a_role_in_path_or_name_holds_a_symbol_back(
    tmp_path: Path, path: str, name: str, about: tuple[str, ...], held_back: bool
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(f"def {name}(x):\n{BODY}")
    index = SymbolIndex(parse_repository(fetch_repository(str(tmp_path), tmp_path)))
    entry = next(e for e in index.entries.values() if e.short_name == name)
    assert (role_factor(entry, frozenset(about)) < 1) == held_back


def test_a_notebook_comes_after_a_module(tmp_path: Path) -> None:
    source = "".join(f'"{line}\\n",' for line in f"def shift(x):\n{BODY}".splitlines()).rstrip(",")
    cell = f'{{"cell_type": "code", "source": [{source}]}}'
    (tmp_path / "demo.ipynb").write_text(f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4}}')
    (tmp_path / "model.py").write_text(f"def shift(x):\n{BODY}")
    index = SymbolIndex(parse_repository(fetch_repository(str(tmp_path), tmp_path)))
    shifts = [entry for entry in index.entries.values() if entry.short_name == "shift"]
    factors = {entry.source.symbol.path: role_factor(entry, frozenset()) for entry in shifts}
    assert factors["demo.ipynb"] < factors["model.py"] == 1
