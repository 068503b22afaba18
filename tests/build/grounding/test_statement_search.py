import pytest

from tests.build.slicing.test_slice import codebase_of
from xkg.build.grounding.repository_lines import Shown
from xkg.build.grounding.statement_search import MOST_CHARACTERS, MOST_NOT_SHOWN, StatementSearch
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import LineRange

CALIBRATION = """\
class Beta1:
    def fit(self, score):
        return self.model.fit(logit(score))

class Beta2:
    def fit(self, score):
        return self.model.fit(stack(log(score), log(1 - score)))
"""
RUN = """\
import numpy as np

def run(loader, share):
    '''Trains.

    share : float
    '''
    held_out = []
    for batch in loader[: int(share * len(loader))]:
        held_out.append(batch)
    return held_out
"""
TESTS = "def test_held_out():\n    held_out = run(loader, 0.1)\n    assert len(held_out) == 1\n"
FILES = {"calibration.py": CALIBRATION, "run.py": RUN, "tests/test_run.py": TESTS}
HELD_OUT = "A tenth of the batches is held out."
BETA1 = "local:made@0123456789:calibration.py::Beta1"


@pytest.fixture(scope="module")
def search() -> StatementSearch:
    return StatementSearch(codebase_of(FILES), OnnxEmbedder())


def test_lines_of_another_file_are_found_for_a_statement_and_siblings_come_first(search: StatementSearch) -> None:
    found = search("Calibration", [HELD_OUT], Shown(text=CALIBRATION.partition("class Beta2")[0]), [BETA1])
    assert found[0].place == "calibration.py:5-7"
    [run] = [each for each in found if each.path == "run.py"]
    assert "held_out.append(batch)" in run.text
    assert "share : float" not in run.text
    assert not [each for each in found if each.path.startswith("tests/") or "Beta1" in each.text]


def test_what_was_shown_is_not_found_again(search: StatementSearch) -> None:
    shown = "\n".join(f"    {line}" for line in (RUN + CALIBRATION).splitlines())
    assert search("Calibration", [HELD_OUT], Shown(text=shown), [BETA1]) == ()


def test_a_large_repository_is_shown_within_bounds() -> None:
    body = "\n".join(f"    held_out_{n} = batches[{n}] * 0.1 + held_out(share, {n})" for n in range(400))
    files = {f"file{n}.py": f"def held_out(batches, share):\n{body}\n" for n in range(12)}
    found = StatementSearch(codebase_of(files), OnnxEmbedder())("Held out", [HELD_OUT] * 5, Shown(text=""), [])
    assert found
    assert sum(len(each.text) for each in found) <= MOST_CHARACTERS


UPDATE = """\
def update(points, rate, steps):
    '''Goes down.

    rate : float
    '''
    for k in range(steps):
        shift = gradient(points)
        points = points - rate * shift
    show(points)
    if steps % 2:
        points = -points
    gamma = 10
    points = points / gamma
    shift = gradient(points)
    return points
"""
NAME = "local:made@0123456789:update.py::update"


def test_lines_that_were_left_out_of_what_was_shown_come_first_whatever_they_have_in_common_with_it() -> None:
    text = "\n".join(UPDATE.split("\n")[:8])
    search = StatementSearch(codebase_of({"update.py": UPDATE}), OnnxEmbedder())
    gaps = {"update.py": (LineRange(start_line=9, end_line=15),)}
    for shown in (Shown(text=text, symbols=(NAME,), gaps=gaps), Shown(text=text, symbols=(NAME,))):
        found = search("Descent", ["The result is divided by ten."], shown, [NAME])[0]
        assert found.left_out
        assert found.place == "update.py:8-15"
        assert "points = -points" in found.text
        assert "gamma = 10" in found.text
    alike = Shown(text=UPDATE, symbols=(NAME,), gaps={"update.py": (LineRange(start_line=14, end_line=14),)})
    assert [each.place for each in search("Descent", ["A step."], alike, [])] == ["update.py:13-14"]
    assert search("Descent", ["A step."], Shown(text=UPDATE, symbols=(NAME,)), []) == ()


def test_of_much_that_was_left_out_the_lines_nearest_to_the_statements_are_given() -> None:
    body = "\n".join(f"    held_{n} = batches[{n}] * 0.1 + others(share, {n})" for n in range(600))
    text = f"def split(batches, share):\n{body}\n    temperature = anneal(schedule)\n    return share\n"
    shown = Shown(text="def split(batches, share):", symbols=("local:made@0123456789:split.py::split",))
    search = StatementSearch(codebase_of({"split.py": text}), OnnxEmbedder())
    left_out = [each for each in search("S", ["Temperature is annealed."], shown, []) if each.left_out]
    assert any("temperature = anneal" in each.text for each in left_out)
    assert sum(len(each.text) for each in left_out) <= MOST_NOT_SHOWN
