"""Runs the task's command in a workspace, one seed at a time."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xkg.agents.ablation.failures import Failure, failure_of, metric_failure
from xkg.agents.ablation.mutation import ChangedPlace
from xkg.agents.ablation.outcomes import RunOutcome
from xkg.agents.ablation.task import SEED, Task, parse_metric
from xkg.agents.workspace.command import Commands, Left, RunResult, cut_middle
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.measured_run import UNCHANGED, Origin, measured
from xkg.agents.workspace.parsing import SourceReader
from xkg.sandbox.isolation.gpus import Gpu, Taken
from xkg.sandbox.isolation.host_proxy import named_hosts
from xkg.sandbox.runner import Environment, Limits, Runner

_OUTPUT = 4000


@dataclass(frozen=True)
class Bench:
    """Runs a task's command. This class is thread-safe for different workspaces. Each run uses one of the `gpus`, if
    any, and can read the files that the setup `fetched`."""

    task: Task
    runner: Runner
    environment: Environment
    reader: SourceReader
    gpus: Taken = field(default_factory=lambda: Taken(()))
    fetched: Left | None = None

    def run(
        self,
        workspace: Workspace,
        seed: int,
        trace: Sequence[str] = (),
        seconds: float | None = None,
        changed: Sequence[ChangedPlace] = (),
        origin: Origin = UNCHANGED,
    ) -> RunOutcome:
        """Runs one version of the code. `origin` describes how the version differs from the starter. The command and
        the evaluation may each take `seconds` (the task's limit if None). The outcome reports which of the `changed`
        places ran. Returns an outcome even if the command fails. Raises the same errors as `Commands`."""
        task = self.task
        metrics = [parse_metric(text) for text in task.metrics]
        wanted = sorted({name for metric in metrics for name in metric.files})
        command = task.command(seed)
        with self.gpus.one() as gpu:
            begun = time.monotonic()  # waiting for a GPU does not count as overhead
            commands = self._commands(seed, seconds or task.seconds, gpu)
            result = measured(
                commands,
                workspace,
                task.training(seed),
                task.evaluation(seed),
                metrics[0],
                self.reader,
                origin,
                trace=trace,
                wanted=wanted,
                awaited=_awaited(changed),
            )
        values: list[float | None] = []
        contents = {path: file.content for path, file in workspace.files.items()}
        problem, failure = result.problem, None if result.ok else failure_of(result, contents)
        if result.ok:
            for i, metric in enumerate(metrics):
                value, why = result.metric_or_problem(metric, self.reader)
                values.append(value)
                if why is not None and i == 0:
                    problem, failure = why, metric_failure(why, _printed(result))
        if result.downloads and not task.allow_hosts:
            hosts = " ".join(f"--allow-host {host}" for host in dict.fromkeys(each.named for each in result.downloads))
            problem = f"{problem}; or fetch the data once, with --setup {shlex.quote(task.training(seed))} {hosts}"
        executed = None if changed else result.lines
        return _outcome(seed, command, result, begun, failure, problem).model_copy(
            update={
                "values": tuple(values),
                "executed": None if executed is None else {path: tuple(sorted(of)) for path, of in executed.items()},
                "printed": result.printed,
                "opened": result.opened,
                "rewritten": result.rewritten,
                "touched": origin.touched(result),
                "apart": result.apart,
                "claimed": result.claimed(metrics[0], self.reader),
                **_reached(changed, result),
            }
        )

    def fetch(self, workspace: Workspace, into: Path) -> RunOutcome:
        """Runs the task's setup with access to the allowed hosts, and archives the setup's files in `into`."""
        task, seed = self.task, self.task.seeds[0]
        command = (task.setup or "").replace(SEED, str(seed))
        begun = time.monotonic()
        result = self._commands(seed, task.seconds).run(
            workspace, command, leaves=into, hosts=named_hosts(task.allow_hosts)
        )
        problem, failure = result.problem, None if result.ok else failure_of(result)
        if problem is not None and not result.refused:
            problem += f" (the limit on downloads is {task.disk_mb} MB in total; see --disk-mb)"
        if result.ok and result.left_at is None:
            problem, failure = f"its files take up more than the {task.disk_mb} MB that a run may write", "disk"
        problem = problem and f"the setup `{command}`: {problem}"
        outcome = _outcome(seed, command, result, begun, failure, problem)
        return outcome.model_copy(update={"left_at": result.left_at})

    def _commands(self, seed: int, seconds: float, gpu: Gpu | None = None) -> Commands:
        task = self.task
        limits = Limits(seconds=seconds, memory_mb=task.memory_mb, disk_mb=task.disk_mb)
        return Commands(self.runner, self.environment, limits, task.data, {"XKG_SEED": str(seed)}, gpu, self.fetched)


def _printed(result: RunResult) -> str:
    return result.output + (result.evaluated.output if result.evaluated else "")


def _outcome(
    seed: int, command: str, result: RunResult, begun: float, failure: Failure | None, problem: str | None
) -> RunOutcome:
    return RunOutcome(
        seed=seed, command=command, values=(), seconds=result.seconds,
        overhead=max(0.0, time.monotonic() - begun - result.seconds),
        failure=failure, problem=problem, output_end=cut_middle(_printed(result), _OUTPUT),
    )  # fmt: skip


def _awaited(changed: Sequence[ChangedPlace]) -> dict[str, list[tuple[int, ...]]]:
    groups: dict[str, list[tuple[int, ...]]] = {}
    for each in changed:
        if each.lines:
            groups.setdefault(each.place.path, []).append(each.lines)
    return groups


def _reached(changed: Sequence[ChangedPlace], result: RunResult) -> dict[str, Any]:
    lines = result.lines
    if not changed or (lines is None and any(each.lines for each in changed)):
        return {}
    ran = [each for each in changed if lines and lines.get(each.place.path, {}).keys() & set(each.lines)]
    if result.gave_up:
        return {"reached": True if ran else None}
    return {"reached": bool(ran), "never_ran": tuple(each.place for each in changed if each not in ran)}
