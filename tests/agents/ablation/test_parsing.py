"""Checks that the confined process finds the same as the parsers, and survives crashes of the parsers."""

import pytest

from xkg.agents.ablation.candidates import Candidate, Place, Replacement
from xkg.agents.ablation.mutation import line_replacements
from xkg.agents.ablation.parsing import mutated_files, space
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.space import find_space
from xkg.agents.ablation.task import parse_metric
from xkg.agents.workspace.edits import EditError, FileEdit
from xkg.agents.workspace.parsing import SourceReader
from xkg.build.code.settings import Setting
from xkg.build.parsing.parsers import Parsers
from xkg.sandbox.isolation.confined_worker import Bounds

TRAIN = """\
import argparse


class Model:
    @property
    def rate(self):
        return 0.1


def loss(a, b, weight=0.5):
    return a + weight * b


parser = argparse.ArgumentParser()
parser.add_argument("--beta", type=float, default=0.9)
beta = parser.parse_args().beta
dropout = float(dict(line.split(": ") for line in open("conf.yaml"))["dropout"])
error = abs(loss(1.0, 2.0 * dropout, beta) - 1.0)
print("error", error)
"""
METRIC = parse_metric("error ([0-9.]+):min")
SETTING = Setting(path="conf.yaml", line=1, name="dropout", value="0.2")
TEXTS = {"train.py": TRAIN, "conf.yaml": "dropout: 0.2\n", "old.py": "print 1\n"}


@pytest.fixture
def parser(parsers: Parsers) -> SourceReader:
    return SourceReader(parsers, Bounds(step_seconds=2, seconds=60, memory_mb=1024))


def test_the_space_is_the_one_that_is_found_without_it(parser: SourceReader) -> None:
    found = parser.of_files(
        space,
        {"texts": TEXTS},
        settings=[SETTING],
        techniques=(),
        command="python train.py --seed 1",
        metric=METRIC,
        executed=None,
        opened=None,
        printed=None,
    )
    expected, protected, shared = find_space(
        [PythonSource("train.py", TRAIN)],
        [SETTING],
        TEXTS,
        METRIC,
        command="python train.py --seed 1",
    )
    assert found.space == expected
    assert found.protected == tuple(protected)
    assert found.shared == tuple(shared)
    assert found.unparsed == ("old.py",)
    assert {c.name for c in expected.components} >= {"beta", "dropout"}


def test_a_file_that_ends_the_parser_is_left_out(parser: SourceReader) -> None:
    bombs = {"deep.py": "x = " + "(" * 400_000, "slow.py": "x = " + "-" * 900_000 + "1\n"}
    found = parser.of_files(
        space,
        {"texts": {**TEXTS, **bombs}},
        settings=(),
        techniques=(),
        command="",
        metric=METRIC,
        executed=None,
        opened=None,
        printed=None,
    )
    assert {"old.py", *bombs} == set(found.unparsed)
    assert any(c.name == "beta" for c in found.space.components)


def test_edits_become_replacements_that_make_the_same_file(parser: SourceReader) -> None:
    edit = FileEdit(file="train.py", kind="replace", target="a + weight * b", text="a")
    changed = parser.applied([edit], TEXTS)
    place = Place(path="train.py", start_line=10, end_line=11)
    candidate = Candidate(
        component="c", kind="toggle", value="", baseline_value="", places=(place,), description="d",
        replacements=tuple(line_replacements("train.py", TRAIN, changed["train.py"])),
    )  # fmt: skip
    mutated, after = mutated_files(parser, candidate, TEXTS, ())
    assert mutated.failure is None
    assert after == changed
    assert "-    return a + weight * b\n+    return a\n" in mutated.diff
    elsewhere = candidate.model_copy(update={"places": (place.model_copy(update={"end_line": 10}),)})
    assert mutated_files(parser, elsewhere, TEXTS, ())[0].failure == "refused"
    assert mutated_files(parser, candidate, TEXTS, (place,))[0].failure == "refused"


def test_edits_that_do_not_apply(parser: SourceReader) -> None:
    with pytest.raises(EditError, match=r"no text file 'other\.py'"):
        parser.applied([FileEdit(file="other.py", kind="replace", target="a", text="b")], TEXTS)
    with pytest.raises(EditError, match="outside"):
        parser.applied([FileEdit(file="../x.py", kind="file", target="", text="b")], TEXTS)
    stale = Candidate(
        component="c", kind="toggle", value="", baseline_value="", places=(), description="d",
        replacements=(Replacement(path="train.py", start=0, end=6, old="export", new="x"),),
    )  # fmt: skip
    assert mutated_files(parser, stale, TEXTS, ())[0].failure == "does not apply"
