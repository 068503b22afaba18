"""Reads finished runs and their cost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table

from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.task import Task
from xkg.agents.codification.verdict import Class
from xkg.agents.workspace.files.workspace import Workspace
from xkg.config import LlmSettings
from xkg.errors import InputError, UnknownIdError
from xkg.llm.costs import Cost, costs

PUBLISHED = (
    "published, agent: A 25 %, B 21.9 %, C 43.8 %, D 9.4 %; S1 46.9 %; time saved 57.9 %. "
    "Error-free (A + B): prescribed 0 + 31 %, single call 12.5 + 6.3 %"
)
CLASSES: tuple[Class, ...] = ("A", "B", "C", "D")


class Run:
    """A finished run. `folder` is `<graph>/runs/<name>`; `arm` combines the run's mode with its access to the graph."""

    def __init__(self, folder: Path) -> None:
        try:
            self.result = CodificationResult.model_validate_json((folder / "result.json").read_bytes())
            self.task = Task.model_validate_json((folder / "task.json").read_bytes())
        except (OSError, ValueError) as error:
            raise InputError(f"{folder} is not a finished run; pass a graph's folder `runs`") from error
        self.folder = folder
        alone = self.task.mode == "agent" and not self.task.graph
        self.arm = f"{self.task.mode}{', no graph' if alone else ''}"

    def tokens(self) -> Cost:
        """Returns the cost of the run's model calls. The cost is empty if the graph's ledger lists no calls."""
        name = f"run:{self.folder.name}"
        try:
            return costs(self.folder.parents[1], LlmSettings(), papers=[name]).total
        except UnknownIdError:
            return Cost(name=name)

    def edited(self) -> dict[str, frozenset[int]]:
        """Returns the non-empty lines (1-based) that the run added or changed, keyed by file."""
        workspace = Workspace.open(self.folder)
        return {
            path: frozenset(n for n in lines if workspace.text(path).splitlines()[n - 1 : n] != [""])
            for path, lines in workspace.changed_lines().items()
        }


def runs_in(folders: Iterable[Path]) -> list[Run]:
    """Returns the finished runs in these folders, in order. Each folder either contains runs or is a run itself. Raises
    `InputError` for a folder without a finished run."""
    found: list[Run] = []
    for folder in folders:
        files = sorted([*folder.glob("result.json"), *folder.glob("*/result.json")])
        if not files:
            raise InputError(f"{folder} contains no finished run; pass a graph's folder `runs`")
        found += [Run(file.parent) for file in files]
    return found


def by_mode(runs: Sequence[Run]) -> Table:
    """Counts classes, steps, edits, tokens and dollars, with one row per mode."""
    columns = ("mode", "runs", *CLASSES, "steps", "edits", "expert", "tokens in", "out", "dollars")
    table = Table(*columns, title="Runs by class")
    for arm in sorted({run.arm for run in runs}):
        of = [run for run in runs if run.arm == arm]
        counts = Counter(run.result.result for run in of)
        dollars = [run.result.dollars for run in of]
        cost = "unknown" if None in dollars else f"{sum(each for each in dollars if each is not None):.3f}"
        sums = (
            sum(run.result.steps for run in of),
            sum(run.result.edits for run in of),
            sum(run.result.expert_calls for run in of),
        )
        spent = [run.tokens() for run in of]
        tokens = (sum(each.input_tokens for each in spent), sum(each.output_tokens for each in spent))
        table.add_row(arm, str(len(of)), *(str(counts[name]) for name in CLASSES), *map(str, (*sums, *tokens)), cost)
    return table
