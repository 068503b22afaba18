"""Runs a task's command and measures the result, in isolation from edited code if possible.

Code that an agent or an ablation changed can alter anything in its process, and static analysis cannot detect every
change. The evaluation command therefore runs in a separate sandbox, in a fresh copy of the tree without the edited
files. The evaluation reads the files that the first command left behind. The edited files are added only if the
evaluation fails without them, for example because it imports edited code. If a task has no evaluation command, the
result comes from its run alone. `remarks` reports whether edited files were present during the evaluation, and which
files with measurement code were overwritten."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from xkg.agents.workspace.command import Commands, Evaluated, Left, RunResult
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.program.metric import Metric
from xkg.value import Value


class Origin(Value):
    """The differences between a version of the code and the starter. `edited` lists the edited paths, and `measuring`
    lists files with measurement code. `outputs` lists files in the starter that its own run overwrites. If `outputs` is
    None, any file may be overwritten."""

    edited: tuple[str, ...] = ()
    measuring: tuple[str, ...] = ()
    outputs: tuple[str, ...] | None = None

    def touched(self, result: RunResult) -> tuple[str, ...]:
        """Returns the measurement files that a run removed or overwrote."""
        changed = {*result.removed, *result.rewritten} - set(self.outputs or ())
        return tuple(path for path in self.measuring if path in changed)


UNCHANGED = Origin()


def measured(
    commands: Commands,
    workspace: Workspace,
    command: str,
    evaluate: str | None,
    metric: Metric,
    reader: SourceReader,
    origin: Origin,
    *,
    trace: Sequence[str] = (),
    wanted: Sequence[str] = (),
    awaited: Mapping[str, Sequence[Sequence[int]]] | None = None,
    first: Sequence[str] = (),
) -> RunResult:
    """Runs `command`, and `evaluate` if there is one, and returns the combined result. Each command runs within the
    limits of `commands`. Line counts are summed over both commands. `first` has the same meaning as in `Commands.run`.
    Raises the same errors as `Commands.run`."""
    printed = metric.key if metric.source == "output" else ""
    if evaluate is None:
        result = commands.run(
            workspace, command, trace=trace, printed=printed, wanted=wanted, awaited=awaited, first=first
        )
        return result.model_copy(update={"apart": not origin.edited})
    with tempfile.TemporaryDirectory(prefix="xkg-left-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        file = place / "left.tar"
        file.touch()
        file.chmod(0o644)
        ran = commands.run(workspace, command, trace=trace, wanted=wanted, awaited=awaited, leaves=file, first=first)
        ran = ran.model_copy(update={"evaluated": Evaluated(command=evaluate, output="")})
        if not ran.ok:
            return ran
        if ran.left_at is None:
            problem = f"its files take up more than the {commands.limits.disk_mb} MB that a run may write"
            return ran.model_copy(update={"ended": "disk", "exit_code": None, "problem": problem})
        outputs = set(ran.rewritten if origin.outputs is None else origin.outputs) - set(origin.measuring)
        for without in dict.fromkeys((origin.edited, ())):
            found = commands.run(
                workspace,
                evaluate,
                trace=trace,
                printed=printed,
                wanted=wanted,
                awaited=awaited,
                without=without,
                left=Left(file, ran.left_at),
                outputs=outputs,
                first=first,
            )
            joined = _joined(ran, found, apart=without == origin.edited)
            if joined.ok and joined.metric_or_problem(metric, reader)[0] is not None:
                return joined
    return joined


def remarks(result: RunResult, metric: Metric, reader: SourceReader, origin: Origin) -> tuple[str, ...]:
    return tuple(_remarks(result, metric, reader, origin))


def _remarks(result: RunResult, metric: Metric, reader: SourceReader, origin: Origin) -> Iterator[str]:
    if touched := origin.touched(result):
        yield f"the run overwrote or removed files with measurement code: {', '.join(touched[:6])}"
    if origin.edited and result.apart:
        yield (
            "the metric was computed without the edited files, from data that the run left behind; data that the "
            "evaluation unpickles can still run code"
        )
    elif origin.edited:
        yield "the metric was computed in a process that may run edited code, which can change the metric"
    value, claimed = result.metric_or_problem(metric, reader)[0], result.claimed(metric, reader)
    if value is not None and claimed is not None and claimed != value:
        yield f"the run itself reported {claimed:g}, and its evaluation measured {value:g}"


def _joined(ran: RunResult, found: RunResult, *, apart: bool) -> RunResult:
    """Combines two results: the exit status of the second command, and the resource usage and effects of both."""
    lines = None
    if ran.lines is not None or found.lines is not None:
        both = [ran.lines or {}, found.lines or {}]
        paths = {path for each in both for path in each}
        counts = {path: [Counter(each.get(path, {})) for each in both] for path in paths}
        lines = {path: dict(sorted((one + other).items())) for path, (one, other) in counts.items()}
    return ran.model_copy(
        update={
            "ended": found.ended,
            "exit_code": found.exit_code,
            "problem": None if found.problem is None else f"its evaluation `{found.command}`: {found.problem}",
            "seconds": ran.seconds + found.seconds,
            "lines": lines,
            "printed": found.printed,
            "gave_up": ran.gave_up or found.gave_up,
            "opened": None if None in (ran.opened, found.opened) else (*(ran.opened or ()), *(found.opened or ())),
            "removed": tuple(dict.fromkeys((*ran.removed, *found.removed))),
            "rewritten": tuple(dict.fromkeys((*ran.rewritten, *found.rewritten))),
            "evaluated": Evaluated(command=found.command, output=found.output, files=found.files),
            "apart": apart,
        }
    )
