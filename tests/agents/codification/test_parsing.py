"""Checks that the confined process finds the same changes as the parser. Code that cannot be parsed counts as
changed."""

import pytest

from tests.agents.codification.runs import MODEL, TRAIN
from xkg.agents.codification.parsing import CodeReader
from xkg.agents.codification.protected import changed_settings, settings
from xkg.agents.workspace.program.evaluation import changed_evaluation, evaluation
from xkg.agents.workspace.program.metric import Metric
from xkg.build.parsing.parsers import Parsers
from xkg.sandbox.isolation.confined_worker import Bounds

METRIC = Metric.parse(r"final loss: ([\d.]+):min")
BEFORE = {"train.py": TRAIN, "model.py": MODEL, "conf.yaml": "a: 1\n", "data.csv": "1\n", "tests/test_a.py": "x = 1\n"}
HUGE = f"def evaluate(x, most=0x{'f' * 5000}):\n    return x * x\n"
"""Python refuses to print a number with so many digits."""
SLOW = "x = (" + "a<" * 950_000 + "a)\n"


@pytest.fixture
def reader(parsers: Parsers) -> CodeReader:
    return CodeReader(parsers, Bounds(step_seconds=0.5, seconds=100))


@pytest.mark.parametrize(
    "after",
    [
        {},
        {"train.py": TRAIN.replace("0.05", "0.1"), "conf.yaml": "a: 2\n"},
        {"model.py": MODEL.replace("x * x", "0.5 * x * x"), "new.py": "import model\nmodel.evaluate = abs\n"},
        {"train.py": TRAIN.replace("final loss", "Final loss:"), "model.py": None},
        {"tests/test_a.py": "x = 2\n", "data.csv": "2\n"},
        {"tests/test_a.py": "x = (\n", "train.py": "print 1\n"},
        {"tests/test_a.py": "# layout\nx  =  1\n", "other.py": "y = 1\n"},
        {"other.py": "print('final loss: 0')\n", "train.py": f"{TRAIN}\n\nclass Loss:\n    def evaluate(self): ...\n"},
    ],
)
@pytest.mark.parametrize("protect", [(), ("data.csv", "train.py::train")])
def test_changes_are_those_that_are_found_without_it(
    reader: CodeReader, after: dict[str, str | None], protect: tuple[str, ...]
) -> None:
    texts = {path: text for path, text in {**BEFORE, **after}.items() if text is not None}
    new = {path: text for path, text in texts.items() if BEFORE.get(path) != text}
    direct = changed_evaluation(evaluation(BEFORE, METRIC, protect), evaluation(texts, METRIC, protect), new, BEFORE)
    assert list(reader.evaluation_changes(BEFORE, texts, METRIC, protect)) == direct
    assert reader.setting_changes(BEFORE, texts) == changed_settings(settings(BEFORE), settings(texts))


def test_a_file_that_ends_the_parser_counts_as_changed(reader: CodeReader) -> None:
    before = {**BEFORE, "huge.py": HUGE}
    assert reader.evaluation_changes(before, {**before, "conf.yaml": "", "b.py": ""}, METRIC) == ()
    after = {**before, "model.py": HUGE, "new.py": SLOW}
    assert set(reader.evaluation_changes(before, after, METRIC)) == {"model.py", "new.py cannot be parsed"}
    assert "model.py" in reader.setting_changes(before, after)
    assert set(reader.left_out) == {"huge.py", "model.py", "new.py"}
    assert any(note.startswith("new.py cannot be parsed (too-slow)") for note in reader.notes())
