import ast
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from xkg.build.code.languages.notebook import notebook_source, python_cell
from xkg.build.code.repository import parse_repository
from xkg.build.repositories.checkout import fetch_repository


def notebook(*cells: str | list[str], language: str = "python") -> bytes:
    return json.dumps(
        {
            "cells": [{"cell_type": "markdown", "source": "# Not code"}]
            + [
                {"cell_type": "code", "source": source, "outputs": [{"text": "def printed(): pass"}]}
                for source in cells
            ],
            "metadata": {"kernelspec": {"language": language}},
            "nbformat": 4,
        }
    ).encode()


def test_cells_become_one_module_whose_lines_count_code_only() -> None:
    source = notebook_source(notebook(["import numpy as np\n", "%matplotlib inline"], "def f(x):\n    return x\n"))
    assert source == "import numpy as np\n# %matplotlib inline\ndef f(x):\n    return x\n"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("!pip install torch\nimport torch", "# !pip install torch\nimport torch"),
        ("files = !ls data\nn = %timeit -o f()", "files = None  # files = !ls data\nn = None  # n = %timeit -o f()"),
        ("if on_colab:\n    !pip install x", "if on_colab:\n    pass  # !pip install x"),
        ("%%time\nx = 1", "# %%time\nx = 1"),
        ("%%bash\ncd data\nls", "# %%bash\n# cd data\n# ls"),
        ("model?\n??fit", "# model?\n# ??fit"),
        ("print('%d'\n  % 3)\nx = '''\n%not magic\n'''", "print('%d'\n  % 3)\nx = '''\n%not magic\n'''"),
        ("x = 7 \\\n% 3\nassert x != 2", "x = 7 \\\n% 3\nassert x != 2"),
        ("def f(:\n  x = (1,", "# def f(:\n#   x = (1,"),
    ],
)
def test_what_is_ipythons_own_becomes_a_comment(cell: str, expected: str) -> None:
    assert python_cell(cell) == expected


@example("#\\\n%time x")
@given(st.lists(st.text("ab1 =%!?#'\"\\()[\t", max_size=12), min_size=1, max_size=8).map("\n".join))
def test_lines_keep_their_count_and_python_stays_as_it_is(cell: str) -> None:
    assert python_cell(cell).count("\n") == cell.count("\n")
    try:
        ast.parse(cell)
    except (SyntaxError, ValueError):
        return
    assert python_cell(cell) == cell


def test_format_3_and_other_languages() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": "def f(): pass", "language": "python"}]}]}
    assert notebook_source(json.dumps(old).encode()) == "def f(): pass\n"
    assert notebook_source(notebook("f(x) = x", language="julia")) is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"3", b'{"cells": 3}', b'{"cells": [3]}', b"\xff\xfe", b"[" * 100_000, b"{}"]
)
def test_what_is_no_notebook(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        notebook_source(content)


def test_a_repository_is_read_with_its_notebooks_and_without_the_broken_ones(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def helper():\n    return 1\n")
    (tmp_path / "demo.ipynb").write_bytes(
        notebook("%load_ext autoreload\nfrom model import helper", "def train(steps):\n    return helper() * steps")
    )
    (tmp_path / "cut.ipynb").write_text('{"cells": [{"cell_ty')
    (tmp_path / "half.ipynb").write_bytes(notebook("s = '\ud800'"))
    (tmp_path / "stats.ipynb").write_bytes(notebook("f <- 1", language="R"))
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / "demo-checkpoint.ipynb").write_bytes(notebook("def train(): pass"))
    (tmp_path / "model.ipynb").write_bytes(
        notebook("def helper():\n    return 1")
    )  # the same script, as jupytext pairs it
    codebase = parse_repository(fetch_repository(str(tmp_path), tmp_path))
    assert [m.path for m in codebase.modules] == ["demo.ipynb", "half.ipynb", "model.py"]
    train = codebase.symbols()[f"{codebase.repository.id}:demo.ipynb::train"]
    assert (train.symbol.start_line, train.symbol.end_line) == (3, 4)
    assert [i.target for m in codebase.modules for i in m.imports if i.name == "helper"] == ["model.py"]
    assert {s.reason: s.examples for s in codebase.skipped} == {
        "broken-notebook": ("cut.ipynb",),
        "generated": (".ipynb_checkpoints/demo-checkpoint.ipynb", "model.ipynb"),
        "other-language": ("stats.ipynb",),
    }
