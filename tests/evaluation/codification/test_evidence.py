"""Techniques of the example, taken out of its code: stored answers put them back, stored tests and mutants judge."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluation.codification.evidence import CASES, judged, judged_file
from evaluation.codification.replay import EXAMPLE, MODES, cases, replayed, starter
from tests.conftest import ROOT
from xkg.config import SandboxSettings, Settings
from xkg.model import Level
from xkg.sandbox.runner import Environment
from xkg.sandbox.select import runner_for

HERE = Environment(site=Path(np.__file__).parents[1], hash="lent")
RECORDED = [
    json.loads(each["answer"])
    for each in json.loads((ROOT / "tests" / "data" / "recordings" / "svgd.json").read_text())
    if each["answer"].startswith("{")
]


class Lent:
    """Environments with the packages that these tests run with, so that nothing is downloaded."""

    def __init__(self, *_: object) -> None:
        pass

    def make(self, *_: object) -> Environment:
        return HERE


@pytest.mark.parametrize("case", cases())
def test_a_case_has_answers_for_each_mode_and_the_stored_test_of_the_guided_build(case: str, tmp_path: Path) -> None:
    assert {path.stem for path in (CASES / case / "answers").iterdir()} == set(MODES)
    file = judged_file(case)
    without = (starter(case, tmp_path) / file).read_text()
    assert without != (EXAMPLE / file).read_text()
    test = (CASES / case / "stored_test.txt").read_text()
    recorded = {each["test"] for each in RECORDED if "test" in each}
    asserts = [line for line in test.splitlines() if line.lstrip().startswith("assert")]
    assert any(asserts == [x for x in text.splitlines() if x.lstrip().startswith("assert")] for text in recorded)
    compile(test, case, "exec")


@pytest.mark.product("a run of the bench with stored answers", every=True)
def test_the_stored_test_and_mutants_tell_right_code_from_code_that_runs() -> None:
    case = "example_adagrad"
    right = (EXAMPLE / judged_file(case)).read_text()
    first = next(n for n, line in enumerate(right.splitlines(), 1) if "squared = direction**2" in line)
    runner = runner_for(SandboxSettings())
    good = judged(right, set(range(first, first + 6)), case, runner, HERE)
    assert good.passes
    assert good.level is Level.TESTED
    assert good.tried >= 6
    assert good.killed == good.tried - len(good.survivors)
    assert "mutants of the new lines are noticed" in str(good)
    wrong = right.replace("self.history = squared\n", "self.history = 0.1 * squared\n", 1)
    bad = judged(wrong, {first}, case, runner, HERE)
    assert not bad.passes
    assert (bad.tried, str(bad).startswith("the stored test fails")) == (0, True)


@pytest.mark.product("a run of the bench with stored answers", every=True)
def test_stored_answers_run_a_mode_whatever_its_prompts_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.agents.codification.start.UvEnvironments", Lent)
    monkeypatch.setenv("OPENAI_API_KEY", "stored")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    result = replayed("example_adagrad", "single", tmp_path, Settings(kg=tmp_path / "kg"))
    assert (result.result, result.changed_files) == ("A", ("svgd/sampler.py", "svgd/stepsize.py"))
