"""Runs the tutorial notebook cell by cell. The last value of a cell is shown as in Jupyter."""

import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.test_examples import demo, here  # noqa: F401  # fixtures

NOTEBOOK = ROOT / "examples" / "tutorial.ipynb"


def run(source: str, names: dict[str, object]) -> str:
    """Returns the printed output of a cell, and its last value as HTML if it has any."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(tree, NOTEBOOK.name, "exec"), names)
        value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names) if last is not None else None
    shown = value._repr_html_() if hasattr(value, "_repr_html_") else "" if value is None else repr(value)
    return out.getvalue() + shown


def test_every_cell_of_the_tutorial_shows_what_it_is_about(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.chdir(here / "examples")  # Jupyter runs a notebook in its folder
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], len({cell["id"] for cell in notebook["cells"]})) == (4, len(notebook["cells"]))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    names: dict[str, object] = {}
    shown = [run("".join(cell["source"]), names) for cell in code]
    assert "published as generation 1" in shown[0]
    assert shown[1].startswith("<pre>1. A Short Account of Stein")
    assert "A Short Account of Stein Variational" in shown[1]
    assert "repulsive force" in shown[3]
    assert shown[4] == "()"
    assert "Repulsive" in shown[5] or "repulsive" in shown[5]
    assert "def repulsive_force" in shown[6]
    assert "svgd/kernels.py" in shown[7]
    assert "Left out" in shown[8]
    assert "median-heuristic" in shown[11]


def test_text_of_a_paper_is_escaped_in_a_notebook() -> None:
    import xkg.serve.answer_text  # noqa: F401
    from xkg.serve.answers.types import CodeAnswer, CypherAnswer, PaperRow, PapersAnswer

    evil = "<script>alert(1)</script>\u202e"
    row = PaperRow(id="p", title=evil, year=None, origin="import", state="complete", techniques=0, code=0, tested=0)
    code = CodeAnswer(
        id="c", technique="t", name=evil, paper_title=evil, level="parsed", language="python", packages=(evil,),
        documentation=evil, implementation=evil,
    )  # fmt: skip
    answers = (
        PapersAnswer(rows=(row,), searched=evil),
        code,
        CypherAnswer(columns=(evil,), rows=((evil,), (None,))),
    )
    for answer in answers:
        html = answer._repr_html_()
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        assert "\u202e" not in html


def test_a_list_becomes_a_data_frame_also_where_it_is_empty() -> None:
    from xkg.serve.answers.types import CypherAnswer, PapersAnswer

    assert list(PapersAnswer(rows=(), searched="").to_pandas().columns)[:2] == ["id", "title"]
    table = CypherAnswer(columns=("a", "b"), rows=((1, "x"), (2, None))).to_pandas()
    assert table.a.tolist() == [1, 2]
    assert list(CypherAnswer(columns=("a",), rows=()).to_pandas().columns) == ["a"]
