from pathlib import Path

import pytest

from evaluation.results.document import Results, mean_figure, read
from evaluation.results.table import conclude, read_earlier
from xkg.errors import InputError


def results(**scores: float) -> Results:
    return Results(measure="m", figures=(mean_figure("share", scores),), scores={"share": scores})


def test_a_run_is_compared_with_the_file_that_it_replaces(tmp_path: Path) -> None:
    said: list[str] = []
    file = tmp_path / "r.json"
    conclude(results(a=0.0, b=0.0), file, None, said.append)
    conclude(results(a=1.0, b=0.0), file, read_earlier(file, "m"), said.append)
    assert "+0.500" in said[-1]
    assert read(file).scores["share"]["a"] == 1.0
    with pytest.raises(InputError, match="not another"):
        read(file, "another")


def test_none_of_three_papers_leaves_room_for_some() -> None:
    figure = mean_figure("share", {"a": 0.0, "b": 0.0, "c": 0.0})
    assert figure.low == 0.0
    assert figure.high == pytest.approx(1 - 0.025 ** (1 / 3))  # by Clopper and Pearson: 0.708
    assert mean_figure("share", {"a": 1.0, "b": 1.0, "c": 1.0}).low == pytest.approx(0.025 ** (1 / 3))
