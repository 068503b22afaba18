"""Runs the task's command over a workspace, with one seed at a time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from xkg.agents.ablation.failures import failure_of, metric_failure
from xkg.agents.ablation.outcomes import RunOutcome
from xkg.agents.ablation.task import Task, parse_metric
from xkg.agents.workspace.command import Commands, cut_middle
from xkg.agents.workspace.workspace import Workspace
from xkg.sandbox.runner import Environment, Limits, Runner

_OUTPUT = 4000


@dataclass(frozen=True)
class Bench:
    """Safe to use from several threads, for different workspaces."""

    task: Task
    runner: Runner
    environment: Environment

    def run(
        self, workspace: Workspace, seed: int, trace: Sequence[str] = (), seconds: float | None = None
    ) -> RunOutcome:
        """One run, of at most `seconds` (None: those of the task). Never raises for what the command does;
        raises what `Commands` raises."""
        task = self.task
        limits = Limits(seconds=seconds or task.seconds, memory_mb=task.memory_mb, disk_mb=task.disk_mb)
        commands = Commands(self.runner, self.environment, limits, task.data, {"XKG_SEED": str(seed)})
        metrics = [parse_metric(text) for text in task.metrics]
        wanted = sorted({name for metric in metrics for name in metric.files})
        command = task.command(seed)
        started = time.monotonic()
        result = commands.run(workspace, command, trace=trace, wanted=wanted)
        values: list[float | None] = []
        problem, failure = result.problem, None if result.ok else failure_of(result)
        if result.ok:
            for i, metric in enumerate(metrics):
                value, why = result.metric_or_problem(metric)
                values.append(value)
                if why is not None and i == 0:
                    problem, failure = why, metric_failure(why, result.output)
        return RunOutcome(
            seed=seed,
            command=command,
            values=tuple(values),
            seconds=result.seconds,
            overhead=max(0.0, time.monotonic() - started - result.seconds),
            memory_mb=result.peak_memory_mb,
            failure=failure,
            problem=problem,
            output_end=cut_middle(result.output, _OUTPUT),
            executed=None if result.lines is None else {p: tuple(sorted(of)) for p, of in result.lines.items()},
        )
