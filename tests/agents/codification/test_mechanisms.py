"""Tests the settings for the cascade, the memory and tasks."""

from pathlib import Path

import pytest

from tests.agents.codification.runs import World, parts, step
from xkg.agents.codification.protected import settings
from xkg.agents.codification.task import read_method, read_task
from xkg.build.parsing.parsers import Parsers
from xkg.errors import InputError

LOOK = [step("inspect_lines", file="train.py", start_line=line) for line in range(1, 30)]


def test_steps_that_left_the_memory_are_a_line_each(world: World) -> None:
    world.endpoint.answers = [parts(), *LOOK[:3], step("code_diff"), step("list_files"), step("undo_edit")]
    world.run(steps=6, memory=2)
    prompt = world.endpoint.requests[-1]["messages"][-1]["content"]
    log, _, last = prompt.partition("Steps before the last ones")[2].partition("The last steps:")
    first, *others = (line for line in log.splitlines() if line[:1].isdigit())
    assert first.startswith("1. inspect_lines")
    assert "train.py, lines 1-20 of 20" in first
    assert len(others) == 2
    assert last.count("Plan and status: p") == 2


def test_no_action_is_taken_twice_in_a_row(world: World) -> None:
    world.endpoint.answers = [parts(), step("list_files"), step("list_files"), step("code_diff"), step("list_files")]
    world.run(steps=3)
    assert world.asked("this repeats the last action") == 1


def test_files_that_are_not_shown_are_named(world: World) -> None:
    (world.starter / "large.py").write_text("# long\n" * 10_000)
    (world.starter / "conf.yaml").write_text("rate: 1\n")
    world.endpoint.answers = [parts(), step("list_files")]
    world.run(steps=1)
    shown = world.endpoint.requests[-1]["messages"][1]["content"]
    assert "## model.py" in shown, "one file hides those after it"
    assert "Not shown: conf.yaml, large.py\n" in shown


def test_the_cascade_goes_from_the_usual_model_to_the_expert(world: World) -> None:
    world.llm = {"model": "base", "stronger_model": "strong", "expert_model": "expert"}
    asked: list[str] = []

    def answer(body: dict[str, object]) -> object:
        model = str(body["model"])
        asked.append(model)
        if len(asked) == 1:
            return parts()
        return step("list_files" if len(asked) < 11 else "code_diff") if model == "expert" else "nonsense"

    world.endpoint._script = answer  # type: ignore[assignment]
    result = world.run(steps=2, tries=3, expert_calls=1)
    assert asked == ["base", *["base"] * 3, *["strong"] * 4, "expert", *["base"] * 3, *["strong"] * 4]
    assert result.expert_calls == 1
    assert "no usable answer" in str(result.stopped)  # the budget allowed no second call to the expert


def test_the_middle_of_a_long_observation_is_cut(world: World) -> None:
    world.library.search = lambda query: f"{query} " + "\n".join(f"row {n}" for n in range(2000))  # type: ignore[method-assign]
    world.endpoint.answers = [parts(), step("search_techniques", text="momentum"), step("list_files")]
    world.run(steps=2)
    shown = world.endpoint.requests[-1]["messages"][1]["content"]
    assert "row 1999" in shown
    assert "row 1000" not in shown


def test_settings_are_constants_defaults_arguments_and_files() -> None:
    text = "RATE = 0.1\nLOW, HIGH = 0, 1\n"
    text += "class Net:\n    width: int = 8\n    def run(self, depth=2, *, dropout=0.5): ...\n"
    text += "p.add_argument('-e', '--epochs', default=5)\n"
    found = settings({"a.py": text, "conf.yaml": "lr: 1\n"})
    assert {k: v for k, v in found.items() if k != "conf.yaml"} == {
        "a.py::RATE": "0.1",
        "a.py::LOW": "0",
        "a.py::HIGH": "1",
        "a.py::Net.width": "8",
        "a.py::Net.run(depth)": "2",
        "a.py::Net.run(dropout)": "0.5",
        "a.py::argument --epochs": "5",
    }
    assert settings({"conf.yaml": "lr: 2\n"})["conf.yaml"] != found["conf.yaml"]


def test_a_task_file_has_flags_over_it_and_paths_beside_it(tmp_path: Path, parsers: Parsers) -> None:
    (tmp_path / "starter").mkdir()
    (tmp_path / "method.txt").write_text("Do this and that with every batch of the data.")
    file = tmp_path / "implement.yaml"
    file.write_text("method: method.txt\nstarter: starter\nrun: python a.py\nmetric: 'acc (.*):max'\nbaseline: 1\n")
    task = read_task(file, {"run": "python b.py", "script": None})
    assert task.run == "python b.py"
    assert task.starter == str(tmp_path / "starter")
    assert read_method(task, parsers).text.startswith("Do this and that")
    with pytest.raises(InputError, match="--starter, --run"):
        read_task(None, {"method": "text", "metric": "a:max"})
    file.write_text("[1, 2]")
    with pytest.raises(InputError, match="not a task file"):
        read_task(file, {})
    file.write_text("metod: x\nmethod: m\nstarter: s\nrun: r\nmetric: 'a:max'\n")
    with pytest.raises(InputError, match="no field 'metod'; the closest is method"):
        read_task(file, {})


def test_a_section_of_a_paper_is_the_method(tmp_path: Path, parsers: Parsers) -> None:
    paper = tmp_path / "paper.tex"
    paper.write_text(
        "\\documentclass{article}\\begin{document}\\section{Introduction}We begin.\n"
        "\\section{Our Method}\\label{sec:method}We keep a velocity of all gradients.\n\\section{Results}Good.\n"
        "\\end{document}"
    )
    given = {"starter": "s", "run": "r", "metric": "a:max"}
    for name in ("sec:method", "our-method", "Our Method"):
        method = read_method(read_task(None, {"method": f"{paper}#{name}", **given}), parsers)
        assert "keep a velocity" in method.text
        assert "Good" not in method.text
    with pytest.raises(InputError, match="available sections: Introduction, Our Method, Results"):
        read_method(read_task(None, {"method": f"{paper}#sec:none", **given}), parsers)
    with pytest.raises(InputError, match="is not a file, a paper in the graph"):
        read_method(read_task(None, {"method": "absent.tex", **given}), parsers)
