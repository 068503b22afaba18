"""Runs `xkg implement` with stored answers on the project's own example, from which one technique was removed. The
graph's stored test for the technique and mutants of the new code then check the result.

    python -m evaluation.codification.replay FOLDER [--case example_median] [--mode agent]

FOLDER gets, by case, the starter and for each mode a folder with its run. The answers (`cases/*/answers/MODE.json`) are
given in order, each to the first question that asks for an answer of its form, whatever the prompt's words. So a
changed prompt does not invalidate them. No model is measured, only how the command and the checks handle the same
answers. The rows `example` and `starter` are the original code, and the code without the technique."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from evaluation.codification.evidence import CASES, Judged, evidence, judged, judged_file, packages
from evaluation.inputs.command import run_command
from evaluation.recording import kind
from tests.llm_endpoint import Answer, ScriptedEndpoint, status
from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.start import RUNS, implement
from xkg.agents.codification.task import read_task
from xkg.agents.workspace.workspace import Workspace
from xkg.config import Settings, load

EXAMPLE = Path(__file__).parents[2] / "examples" / "svgd" / "code"
MODES = ("agent", "prescribed", "single")


def cases() -> list[str]:
    """The cases with stored answers, in order."""
    return sorted(path.parent.name for path in CASES.glob("*/answers"))


def starter(case: str, folder: Path) -> Path:
    """The starter of a case, made from the example if it does not exist yet."""
    place = folder / "starter"
    if not place.exists():
        shutil.copytree(EXAMPLE, place)
        with (CASES / case / "without.patch").open() as changes:
            alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(place.parent.resolve())}
            subprocess.run(["git", "apply"], cwd=place, env=alone, stdin=changes, check=True)
    return place


def replayed(case: str, mode: str, folder: Path, settings: Settings) -> CodificationResult:
    """The result of one mode on a case, with the stored answers and the starter in `folder`. `settings` name the graph;
    their model is replaced."""
    answers = json.loads((CASES / case / "answers" / f"{mode}.json").read_text(encoding="utf-8"))
    task = read_task(CASES / case / "implement.yaml", {"starter": str(starter(case, folder)), "mode": mode})
    with answering(answers) as endpoint:
        llm = settings.llm.model_copy(update={"model": "stored-answers", "base_url": endpoint.url, "max_cost": None})
        return implement(settings.model_copy(update={"llm": llm}), task)


def answering(answers: Sequence[Mapping[str, Any]]) -> ScriptedEndpoint:
    """An endpoint on loopback that gives each answer once, in order, to the first question that asks for one of its
    fields; HTTP 400 if none is left."""
    left = list(answers)

    def answer(body: dict[str, Any]) -> Answer:
        fields = set(kind(body).split(", "))
        found = next((each for each in left if set(each) == fields), None)
        if found is None:
            return status(400, f"no stored answer is left for {sorted(fields)}")
        left.remove(found)
        return found

    return ScriptedEndpoint(answer)


def references(case: str, run: Path, settings: Settings) -> dict[str, Judged]:
    """The checks of the example's own code and of the starter, in the packages of a run."""
    file = judged_file(case)
    without = Workspace.open(run).files_of(0)[file].content.decode()
    source = (EXAMPLE / file).read_text(encoding="utf-8")
    new = {n for n, line in enumerate(source.splitlines(), 1) if line not in without.splitlines()}
    runner, environment = packages(run, settings)
    return {
        "example": judged(source, new, case, runner, environment),
        "starter": judged(without, frozenset(), case, runner, environment),
    }


def main(folder: Path, *, case: Sequence[str] = (), mode: Sequence[str] = ()) -> None:
    console = Console(highlight=False, soft_wrap=True, width=160)
    columns = ("case", "code of", "class", "metric", "steps, edits", "stored test", "level", "mutants noticed")
    table = Table(*columns, title="The example's techniques, put back")
    lines = []

    def add(case: str, code_of: str, run: tuple[str, str, str], found: Judged) -> None:
        killed = f"{found.killed} of {found.tried}" if found.passes else "-"
        table.add_row(case, code_of, *run, "passes" if found.passes else "fails", str(found.level), killed)
        lines.append(f"{case}, {code_of}: {found}")

    for name in case or cases():
        for each in mode or MODES:
            settings = load().model_copy(update={"kg": folder / name / each})  # a shared ledger would reuse answers
            result = replayed(name, each, folder / name, settings)
            run = settings.kg / RUNS / result.run
            metric = f"{result.metric_before} -> {result.metric_after}"
            add(name, each, (result.result, metric, f"{result.steps}, {result.edits}"), evidence(run, name, settings))
        for code_of, found in references(name, run, settings).items():
            add(name, code_of, ("", "", ""), found)
    console.print(table)
    for line in lines:
        console.print(line)


if __name__ == "__main__":
    run_command(main)
