"""Rates the quality of runs. Judges independently read the method and the changes, and list the lines that need repair.

A judgement is a row `run,judge,quality,edited,repaired`. The quality is S1 (correct as it is), S2 (needs small repairs)
or S3 (needs a rewrite). `edited` is the number of lines that the agent edited, and `repaired` is the number of lines
that need repair, including missing lines. Time saved is 1 - repaired/edited (Gandhi et al., "ResearchCodeAgent", 2025).
"""

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from evaluation.codification.results import Run
from xkg.agents.codification.prompting.answers import Parts
from xkg.agents.workspace.command import cut_middle
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.operations import Operations
from xkg.config import Settings
from xkg.errors import InputError
from xkg.llm.client import AnswerType, LanguageModel, Tier
from xkg.llm.prompt import load_prompt
from xkg.value import Value

_PROMPT = Path(__file__).parent / "prompts" / "quality.md"
_TRIES = 3
_LONGEST = 100_000


class Repair(AnswerType):
    file: str
    start_line: int
    end_line: int
    why: str


class Quality(AnswerType):
    """A judge's answer."""

    repairs: tuple[Repair, ...]
    missing_lines: int
    quality: Literal["S1", "S2", "S3"]
    reason: str


class Judgement(Value):
    run: str
    judge: str
    quality: str
    edited: int
    repaired: int
    reason: str = ""


def judge(run: Run, name: str, model: LanguageModel) -> Judgement:
    """Asks one judge about a run, independently of other judges. Raises the same errors as `LanguageModel`."""
    workspace = Workspace.open(run.folder)
    edited = run.edited()
    inputs = {
        "judge": name,
        "method": (run.folder / "method.txt").read_text(encoding="utf-8"),
        "parts": "\n".join(f"- {part}" for part in parts_of(run)),
        "changes": cut_middle(workspace.diff(), _LONGEST) or "none",
        "lines": cut_middle(_numbered(workspace, edited), _LONGEST) or "none",
    }

    def check(answer: Quality) -> str | None:
        for repair in answer.repairs:
            if (
                repair.file not in edited
                or not set(range(repair.start_line, repair.end_line + 1)) & edited[repair.file]
            ):
                return f"{repair.file}:{repair.start_line}-{repair.end_line} has no changed line: name changed lines"
        if answer.missing_lines < 0 or (answer.quality == "S1" and (answer.repairs or answer.missing_lines)):
            return "S1 is for what needs no repair"
        return None

    prompt = load_prompt(_PROMPT)
    answer = model.ask_cascade(
        f"judge:{run.folder.name}", prompt, Quality, inputs, [Tier(prompt.role, _TRIES)], about=name, check=check
    ).answer
    bad = {(r.file, n) for r in answer.repairs for n in range(r.start_line, r.end_line + 1) if n in edited[r.file]}
    return Judgement(
        run=run.folder.name,
        judge=name,
        quality=answer.quality,
        edited=sum(map(len, edited.values())),
        repaired=len(bad) + answer.missing_lines,
        reason=answer.reason,
    )


def judged_runs(runs: Sequence[Run], judges: Sequence[str], settings: Settings) -> list[Judgement]:
    """Returns all judges' judgements of all runs with changes. The judges are the configured models."""
    pairs = [(run, name) for run in runs if run.result.changed_files for name in judges]
    graphs = {run.folder.parents[1] for run, _ in pairs}
    with ExitStack() as opened:
        models = {graph: opened.enter_context(LanguageModel(settings.llm, graph)) for graph in graphs}
        threads = opened.enter_context(ThreadPoolExecutor(settings.llm.concurrency))

        def answered(pair: tuple[Run, str]) -> Judgement:
            run, name = pair
            return judge(run, name, models[run.folder.parents[1]])

        return list(threads.map(answered, pairs))


def parts_of(run: Run) -> tuple[str, ...]:
    """Returns the names of the method's parts, if the run's last verdict located them."""
    parts = Operations(run.folder).get("parts", {}, Parts)
    return parts.parts if parts is not None else ("as the method's text has them",)


def judgements_in(file: Path) -> list[Judgement]:
    with file.open(newline="", encoding="utf-8") as rows:
        return [Judgement.model_validate(row) for row in csv.DictReader(rows)]


def write(judgements: Iterable[Judgement], file: Path) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(Judgement.model_fields))
        writer.writeheader()
        writer.writerows(each.model_dump() for each in judgements)


def judged(judgements: Sequence[Judgement], runs: dict[str, Run]) -> list[str]:
    """Returns one line for each judgement, one line for each mode, and one line for all judgements. The last line says
    how often all judges of a run agree. Raises `InputError` for a judgement of an unknown run."""
    if unknown := [each.run for each in judgements if each.run not in runs]:
        raise InputError(f"unknown run {unknown[0]}: it is not among the given runs")
    lines = [
        f"{each.run} ({runs[each.run].result.result}), judge {each.judge}: {each.quality}, {_sums([each])}"
        for each in judgements
    ]
    for arm in sorted({runs[each.run].arm for each in judgements}):
        of_arm = [each for each in judgements if runs[each.run].arm == arm]
        lines.append(f"{arm}: {_qualities(of_arm)}; {_sums(of_arm)}")
    by_run: dict[str, list[str]] = {}
    for each in judgements:
        by_run.setdefault(each.run, []).append(each.quality)
    several = [qualities for qualities in by_run.values() if len(qualities) > 1]
    same = sum(len(set(qualities)) == 1 for qualities in several)
    agree = f"the judges agree on {same} of {len(several)} runs that several judged"
    return [*lines, f"all: {_qualities(judgements)}; {_sums(judgements)}", agree]


def _qualities(judgements: Sequence[Judgement]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(Counter(j.quality for j in judgements).items()))


def _sums(judgements: Sequence[Judgement]) -> str:
    edited, repaired = sum(each.edited for each in judgements), sum(each.repaired for each in judgements)
    saved = f", time saved {1 - repaired / edited:.0%}" if edited else ""
    return f"{repaired} of {edited} edited lines were repaired{saved}"


def _numbered(workspace: Workspace, edited: dict[str, frozenset[int]]) -> str:
    blocks = []
    for path, numbers in edited.items():
        lines = workspace.text(path).splitlines()
        blocks.append(f"## {path}\n" + "\n".join(f"{n:>5}  {lines[n - 1]}" for n in sorted(numbers)))
    return "\n\n".join(blocks)
