"""Runs a task from start to finish: starter, baseline, parts, steps and verdict. Runs can be resumed after any step.

    <graph>/runs/<run>/task.json, method.txt   the task
    <graph>/runs/<run>/nodes/          the finished steps, runs and answers (`xkg.agents.workspace.operations`)
    <graph>/runs/<run>/result.json, report.md, transcript.jsonl, changes.patch
    <graph>/runs/<run>/related/            copies of the related files outside the starter
    and the files of `xkg.agents.workspace`

A run's name contains a digest of the task and the starter's content. Repeating a command resumes the same run, or
returns the stored result if the run has finished.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from xkg.agents.codification import report
from xkg.agents.codification.doubts.properties import asked_properties
from xkg.agents.codification.library import Library
from xkg.agents.codification.parsing import CodeReader
from xkg.agents.codification.prompting.answers import PROMPTS, Parts
from xkg.agents.codification.prompting.memory import Taken
from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.session import Baseline, Session
from xkg.agents.codification.steps.actions import Actions
from xkg.agents.codification.steps.modes import next_step
from xkg.agents.codification.task import Method, Task
from xkg.agents.codification.transcript import json_lines, steps
from xkg.agents.codification.verdict import Verdict, classify
from xkg.agents.workspace.command import Commands
from xkg.agents.workspace.files.starter import Starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.operations import Operations
from xkg.agents.workspace.questions import Questions
from xkg.agents.workspace.related_files import RelatedFiles
from xkg.config import ImplementSettings
from xkg.errors import AnswerError, BudgetError, InputError, ModelUnavailableError
from xkg.files import file_lock, private_folder, write_whole
from xkg.llm.client import LanguageModel
from xkg.llm.prompt import load_prompt
from xkg.model import slug
from xkg.sandbox.runner import Environment

_STRONGER_TRIES = 4


class StepTaken(NamedTuple):
    """A finished step, for progress displays, with the dollars spent so far (None if unknown) and the last metric."""

    number: int
    action: str
    outcome: str
    dollars: float | None
    metric: float | None


def run_name(
    task: Task, method: Method, starter: Starter, models: Sequence[str], related: str = "", environment: object = None
) -> str:
    """Returns the name of a task's run, which consists of a word from the starter, the mode and a digest. `related`
    identifies the related files from outside the starter. `environment` is a JSON value with the package settings."""
    asked = task.model_dump(mode="json") | {"method": method.text, "starter": starter.identity, "models": list(models)}
    asked |= {"files": related} if related else {}
    asked |= {"environment": environment} if environment else {}
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:10]
    word = slug(starter.spec.rstrip("/").rpartition("/")[2].partition("@")[0])[:24] or "run"
    return f"{word}-{task.mode}-{digest}"


def codify(
    task: Task,
    method: Method,
    starter: Starter,
    folder: Path,
    model: LanguageModel,
    library: Library,
    commands: Callable[[Workspace], Commands],
    reader: CodeReader,
    settings: ImplementSettings,
    notify: Callable[[object], None],
    related: RelatedFiles,
    packages: Callable[[Workspace, Sequence[str]], Environment],
) -> CodificationResult:
    """Runs or resumes a task in `folder`. Reuses the stored answers and runs of earlier attempts. `packages` creates a
    workspace's environment with additional modules.

    If the model becomes unavailable (budget spent, no endpoint, no usable answer), the result's `stopped` contains the
    reason. The same call can then resume the run later. Raises `InputError` if the starter does not run or has no
    metric, or if another process is working on this run."""
    private_folder(folder)
    with ExitStack() as held:
        if not held.enter_context(file_lock(folder / "lock", wait=False)):
            raise InputError(f"another process is working on the run {folder.name}; wait for that process to finish")
        if (done := _finished(folder, settings.steps)) is not None:
            return done
        write_whole(folder / "task.json", task.model_dump_json(indent=1).encode())
        write_whole(folder / "method.txt", method.text.encode("utf-8", "replace"))
        related.write(folder)
        started = (folder / "workspace.json").exists()
        workspace = Workspace.open(folder) if started else Workspace.create(folder, starter)
        operations = Operations(folder)
        session = Session(
            task=task,
            method=operations.do("method", {}, Method, lambda: method),  # the graph may change before a run resumes
            workspace=workspace,
            commands=commands(workspace),
            reader=reader,
            questions=Questions(
                model,
                f"run:{folder.name}",
                tries=settings.tries,
                stronger_tries=_STRONGER_TRIES,
                most_expert_calls=settings.expert_calls,
            ),
            library=library,
            operations=operations,
            settings=settings,
            beside=related,
            notify=notify,
            packages=lambda modules: packages(workspace, modules),
        )
        return _run(session, folder)


def _run(session: Session, folder: Path) -> CodificationResult:
    session.workspace.rewind(max((each.version for each in steps(folder)[-1:]), default=0))
    baseline = session.operations.do("baseline", {}, Baseline, lambda: _baseline(session))
    if baseline.metric is None:
        # so that repeating the command starts from scratch
        shutil.rmtree(folder)
        notes = f" (notes: {'; '.join(session.workspace.notes)[:400]})" if session.workspace.notes else ""
        raise InputError(
            f"the unchanged starter does not report its metric: {baseline.problem}{notes}; correct --run or --metric, "
            "pass the starter's data with --data, or pass --baseline if the starter cannot run yet"
        )
    session.baseline = baseline
    history: list[Taken] = []
    verdict: Verdict | None = None
    stopped: str | None = None
    final = True
    try:
        session.parts = _parts(session)
        session.properties = asked_properties(session)
        actions = Actions(session)
        while len(history) < session.settings.steps:
            taken, verdict = _taken(session, actions, history, verdict)
            if taken is None:
                break
            history.append(taken)
            _notify(session, taken, verdict)
            if taken.accepted:
                break
        else:
            stopped = f"no answer was accepted within {session.settings.steps} steps (implement.steps)"
    except (BudgetError, ModelUnavailableError, AnswerError) as error:
        stopped, final = str(error), False
    return _result(session, folder, history, verdict, stopped, final=final)


def _taken(
    session: Session, actions: Actions, history: Sequence[Taken], verdict: Verdict | None
) -> tuple[Taken | None, Verdict | None]:
    """Returns the next step and the last verdict. Executes the step unless its result is already stored."""
    operations, number = session.operations, len(history) + 1
    if (known := operations.get("step", {"number": number}, Taken)) is not None:
        session.questions.expert_calls += known.expert_calls
        return known, operations.get("verdict", {"number": number}, Verdict) or verdict
    before = session.questions.expert_calls
    step = next_step(session, actions, history)
    if step is None:
        return None, verdict
    observation = actions.do(step, verdict)
    if observation.verdict is not None:
        operations.put("verdict", {"number": number}, observation.verdict)
    taken = Taken(
        number=number,
        step=step,
        observation=observation.text,
        version=session.workspace.current.number,
        expert_calls=session.questions.expert_calls - before,
        accepted=observation.verdict is not None and observation.verdict.accepted,
    )
    operations.put("step", {"number": number}, taken)
    return taken, observation.verdict or verdict


def _baseline(session: Session) -> Baseline:
    task = session.task
    if task.baseline is not None:
        return Baseline(metric=task.baseline, rewritten=())
    result = session.run(())
    if result.problem is not None:
        missing = session.commands.environment.missing
        absent = f"; packages that could not be installed: {', '.join(sorted(missing)[:6])}" if missing else ""
        return Baseline(problem=f"`{task.run}`: {result.problem}{absent}")
    metric, problem = result.metric_or_problem(task.parsed_metric, session.reader)
    return Baseline(metric=metric, problem=problem, removed=result.removed, rewritten=result.rewritten)


def _parts(session: Session) -> tuple[str, ...]:
    """Returns the method's parts, from the graph if possible. Otherwise, asks a model to find them in the method's
    text."""
    if session.method.parts:
        return session.method.parts

    def ask() -> Parts:
        inputs = {
            "method": session.method.text,
            "pseudocode": session.task.pseudocode,
            "files": session.shown(),
        }

        def check(answer: Parts) -> str | None:
            names = [part.strip().lower() for part in answer.parts]
            if not 1 <= len(names) <= 12 or len(set(names)) < len(names) or "" in names:
                return "give between 1 and 8 parts, each with a unique name"
            return None

        return session.questions.ask(load_prompt(PROMPTS / "parts.md"), Parts, inputs, about="parts", check=check)

    return session.operations.do("parts", {}, Parts, ask).parts


def _notify(session: Session, taken: Taken, verdict: Verdict | None) -> None:
    outcome = (taken.observation.strip().splitlines() or [""])[0]
    metric = verdict.metric if verdict is not None else None
    session.notify(StepTaken(taken.number, taken.step.action, outcome, session.questions.spent(), metric))


def _result(
    session: Session,
    folder: Path,
    history: Sequence[Taken],
    verdict: Verdict | None,
    stopped: str | None,
    *,
    final: bool,
) -> CodificationResult:
    workspace, removed = session.workspace, ", ".join(session.baseline.removed[:4])
    last = history[-1].version if history else 0
    workspace.rewind(last)  # undo the edits of an interrupted step
    if final and workspace.changed() and (verdict is None or not verdict.accepted):
        given = (verdict.places, verdict.declared) if verdict else ((), ())
        verdict = Actions(session).finish(*given, (), verdict).verdict
    result = CodificationResult(
        run=folder.name,
        mode=session.task.mode,
        result=classify(session, verdict),
        metric_before=session.baseline.metric,
        metric_after=verdict.metric if verdict else None,
        steps=len(history),
        edits=len(workspace.versions) - 1,
        changed_files=tuple(workspace.changed()),
        faults=verdict.faults if verdict else (),
        doubts=tuple(map(str, verdict.doubts)) if verdict and not verdict.faults else (),
        stopped=stopped,
        dollars=session.questions.spent(),
        expert_calls=session.questions.expert_calls,
        notes=(
            *_changed_evaluation(verdict),
            *(verdict.remarks if verdict else ()),
            *([f"the starter's run removes files from its folder (here only from a copy): {removed}"] * bool(removed)),
            *session.method.notes,
            *workspace.notes,
            *session.beside.notes,
            *session.commands.environment.notes,
            *session.reader.notes(),
        ),
        report=str(folder / "report.md"),
    )
    page = report.written(session, history, verdict, result)
    write_whole(folder / "report.md", page.encode("utf-8", "replace"))
    write_whole(folder / "transcript.jsonl", json_lines(folder).encode("utf-8", "replace"))
    write_whole(folder / "changes.patch", workspace.patch())
    if final:
        write_whole(folder / "result.json", result.model_dump_json(indent=1).encode())
    return result


def _changed_evaluation(verdict: Verdict | None) -> tuple[str, ...]:
    """Returns a note on changes to the evaluation. Such changes must be reported even if they are allowed."""
    changes = verdict.evaluation_changes if verdict is not None else ()
    if not changes:
        return ()
    named = "; ".join(changes[:6])
    return (f"the evaluation was changed ({named}), so the metrics before and after may not be comparable",)


def _finished(folder: Path, steps: int) -> CodificationResult | None:
    """Returns the stored result of a finished run, or None if the run can take more steps."""
    try:
        result = CodificationResult.model_validate_json((folder / "result.json").read_bytes())
    except (OSError, ValueError):
        return None
    return None if result.stopped is not None and result.steps < steps else result
