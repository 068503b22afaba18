"""Tests that the confined process survives inputs that would crash it."""

import pytest

from xkg.agents.ablation.candidates import Candidate, Replacement
from xkg.agents.ablation.parsing import mutated_files, space
from xkg.agents.ablation.task import parse_metric
from xkg.agents.workspace.parsing import SourceReader
from xkg.build.parsing.parsers import Parsers
from xkg.sandbox.isolation.confined_worker import Bounds

METRIC = parse_metric("error ([0-9.]+):min")
TEXTS = {"train.py": "BETA = 0.9\nprint('error', 2.0 * BETA)\n", "old.py": "print 1\n"}


@pytest.fixture
def parser(parsers: Parsers) -> SourceReader:
    return SourceReader(parsers, Bounds(step_seconds=2, seconds=60, memory_mb=1024))


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
    assert any(c.name == "BETA" for c in found.space.components)


def test_edits_that_do_not_apply(parser: SourceReader) -> None:
    stale = Candidate(
        component="c", kind="toggle", value="", baseline_value="", places=(), description="d",
        replacements=(Replacement(path="train.py", start=0, end=4, old="RATE", new="x"),),
    )  # fmt: skip
    assert mutated_files(parser, stale, TEXTS, ())[0].failure == "does not apply"
