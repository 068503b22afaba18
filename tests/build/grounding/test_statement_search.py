import pytest

from tests.build.slicing.test_slice import codebase_of
from xkg.build.grounding.statement_search import MOST_CHARACTERS, StatementSearch
from xkg.embeddings.onnx import OnnxEmbedder

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
    found = search("Calibration", [HELD_OUT], CALIBRATION.partition("class Beta2")[0], [BETA1])
    assert found[0].place == "calibration.py:5-7"
    [run] = [each for each in found if each.path == "run.py"]
    assert "held_out.append(batch)" in run.text
    assert "share : float" not in run.text
    assert not [each for each in found if each.path.startswith("tests/") or "Beta1" in each.text]


def test_what_was_shown_is_not_found_again(search: StatementSearch) -> None:
    shown = "\n".join(f"    {line}" for line in (RUN + CALIBRATION).splitlines())
    assert search("Calibration", [HELD_OUT], shown, [BETA1]) == ()


def test_a_large_repository_is_shown_within_bounds() -> None:
    body = "\n".join(f"    held_out_{n} = batches[{n}] * 0.1 + held_out(share, {n})" for n in range(400))
    files = {f"file{n}.py": f"def held_out(batches, share):\n{body}\n" for n in range(12)}
    found = StatementSearch(codebase_of(files), OnnxEmbedder())("Held out", [HELD_OUT] * 5, "", [])
    assert found
    assert sum(len(each.text) for each in found) <= MOST_CHARACTERS
