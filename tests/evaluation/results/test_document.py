import argparse
from pathlib import Path

import pytest

from evaluation.results.document import Results, mean_figure, read, write
from evaluation.results.table import add_options, conclude
from xkg.errors import InputError


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(arguments)


def results(**scores: float) -> Results:
    return Results(measure="m", figures=(mean_figure("share", scores),), scores={"share": scores})


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    made = results(a=1.0, b=0.0)
    write(made, tmp_path / "r.json")
    assert read(tmp_path / "r.json", "m") == made


def test_a_run_is_compared_with_the_file_that_it_replaces(tmp_path: Path) -> None:
    said: list[str] = []
    file = tmp_path / "r.json"
    conclude(results(a=0.0, b=0.0), options("--json", str(file)), said.append)
    conclude(results(a=1.0, b=0.0), options("--json", str(file), "--against", str(file)), said.append)
    assert "+0.500" in said[-1]
    assert read(file).scores["share"]["a"] == 1.0


@pytest.mark.parametrize("text", ["", "[]", '{"measure": 3}', '{"measure": "m", "scores": {"s": {"a": "x"}}}', "\xff"])
def test_what_holds_no_results_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"r\.json: holds no results"):
        read(tmp_path / "r.json")


def test_results_of_another_measure_are_refused(tmp_path: Path) -> None:
    write(results(a=1.0), tmp_path / "r.json")
    with pytest.raises(InputError, match="measures m, not other"):
        read(tmp_path / "r.json", "other")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        read(tmp_path / "none.json")


def test_nothing_measured_is_a_figure_without_a_value() -> None:
    figure = mean_figure("share", {})
    assert figure.value is None
    assert figure.note == "no items"


def test_inputs_that_could_not_be_used_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    conclude(results(a=1.0).model_copy(update={"problems": ("gold.json: line 3: no name",)}), options())
    assert "1 input could not be used:\n  gold.json: line 3: no name" in capsys.readouterr().out


def test_none_of_three_papers_leaves_room_for_some() -> None:
    figure = mean_figure("share", {"a": 0.0, "b": 0.0, "c": 0.0})
    assert figure.low == 0.0
    assert figure.high == pytest.approx(1 - 0.025 ** (1 / 3))  # Clopper and Pearson: 0.708
    assert mean_figure("share", {"a": 1.0, "b": 1.0, "c": 1.0}).low == pytest.approx(0.025 ** (1 / 3))
