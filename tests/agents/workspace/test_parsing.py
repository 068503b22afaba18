"""Checks that the confined process returns the same results as the parsers, even after they crash."""

from pathlib import Path

import pytest

from xkg.agents.workspace.command import packages_for
from xkg.agents.workspace.files.edits import EditError, FileEdit
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.program.metric import Metric
from xkg.build.parsing import parsers
from xkg.build.parsing.parsers import Parsers
from xkg.errors import MetricError, UnsafeInputError
from xkg.sandbox.isolation.confined_worker import Bounds
from xkg.sandbox.runner import Environment

BOUNDS = Bounds(step_seconds=0.5, seconds=100)
SLOW = "x = (" + "a<" * 950_000 + "a)\n"
DIVISION = f"x = 0x{'f' * 3_000_000} // 0x{'7' * 1_500_000}\n"
"""The compiler evaluates constant expressions, however long that takes."""
BOMBS = {
    "slow.py": SLOW,
    "minus.py": "x = " + "-" * 900_000 + "1\n",
    "deep.py": "x = " + "(" * 1_000_000,
    "nested.py": "x = " + "[" * 90 + "f(" * 5000 + "\n",
}
TANGLED = {
    "requirements/pyproject.toml": "a = " + "[" * 200_000,
    "env/environment.yml": "a: &a [x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(999)),
    "setup.py": "setup(install_requires=" + "(" * 500_000,
    "Pipfile": "[packages]\n" + "a." * 40_000 + "b = 1\n",
}


@pytest.fixture
def reader(parsers: Parsers) -> SourceReader:
    return SourceReader(parsers, BOUNDS)


class Maker:
    """Installs nothing, and records its arguments."""

    def __init__(self) -> None:
        self.imports: object = None
        self.lines: object = None

    def make(self, imports: object, lines: object, *_: object) -> Environment:
        self.imports, self.lines = imports, lines
        return Environment(site=None, hash="made", notes=("of the maker",))


def test_an_edit_that_ends_the_parser_is_refused(reader: SourceReader) -> None:
    with pytest.raises(EditError, match=r"^the edited file cannot be parsed \(too-slow\)$"):
        reader.applied([FileEdit(file="slow.py", kind="file", target="", text=DIVISION)], {})
    with pytest.raises(EditError, match="no definition of `g`"):  # the process answers again after a crash
        reader.applied([FileEdit(file="a.py", kind="function", target="g", text="")], {"a.py": "def f(): pass\n"})


def test_a_run_goes_on_without_what_cannot_be_parsed(starter: Path, tmp_path: Path, reader: SourceReader) -> None:
    for name, text in {**BOMBS, **TANGLED, "a.py": "import numpy\n", "requirements.txt": "numpy<3\n"}.items():
        (starter / name).parent.mkdir(exist_ok=True)
        (starter / name).write_text(text)
    workspace = Workspace.create(tmp_path / "bombs", read_starter(str(starter), tmp_path / "cache"))
    maker = Maker()
    made = packages_for(workspace, maker, reader)  # type: ignore[arg-type]
    assert maker.imports == {"numpy": ()}
    assert maker.lines == ["numpy<3"]
    note = "slow.py cannot be parsed (too-slow), so the packages that it requires are unknown"
    assert made.notes == ("of the maker", note)
    assert reader.outlines({"slow.py": SLOW, "b.py": DIVISION, "a.py": "x = 1\n"})["a.py"].executable == {1}
    assert packages_for(workspace, None, reader).notes == (note,)
    assert reader.left_out == {"slow.py": "too-slow", "b.py": "too-slow"}


def test_too_many_of_them_end_in_one_line(reader: SourceReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "MOST_DEADLY", 1)
    many = {f"slow{i}.py": SLOW for i in range(2)}
    with pytest.raises(
        UnsafeInputError,
        match=r"^the code cannot be parsed: too many files crash the parser \(slow\d\.py, slow\d\.py\); pass",
    ):
        reader.packages(many, {})


@pytest.mark.product("each pattern")
@pytest.mark.parametrize("pattern", [r"acc.*?=.*?([0-9.]+)%", r"(a|a)+b$", r"(\w+\s?)+\1:"])
def test_a_pattern_that_backtracks_for_hours_is_ended_and_named(pattern: str, reader: SourceReader) -> None:
    output = "\n".join(["acc=9" * 800, "a" * 3000, "a " * 2000] * 600)
    with pytest.raises(MetricError) as raised:
        reader.metric(Metric.parse(f"{pattern}:max"), output, {})
    assert reader.metric(Metric.parse("acc=([0-9]):max"), output, {}) == 9
    assert f"the pattern {pattern!a} takes more than 0.5 s on the output" in str(raised.value)


def test_a_table_with_many_columns_and_rows_is_read_in_proportion_to_its_size(parsers: Parsers) -> None:
    table = b"loss," + b"a," * 500_000 + b"\n" + b"1\n" * 500_000 + b"2\n"
    assert SourceReader(parsers).metric(Metric.parse("csv:log.csv#loss:min"), "", {"log.csv": table}) == 2
