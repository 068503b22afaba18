"""Whether the graph's stored test for a technique passes on an agent's code, and which changes of that code it detects.
This is the evidence for levels of code nodes (`xkg.sandbox.evidence`), applied to an agent's code.

A case with `evidence.yaml` (the file that gets the technique) has the test as `stored_test.txt`. It is from the guided
build of the project's example, adapted to the names in the example's code."""

from collections.abc import Set
from pathlib import Path
from typing import NamedTuple

import yaml

from xkg.agents.parsers import agent_parsers
from xkg.agents.workspace.command import packages_for
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.workspace import Workspace
from xkg.config import Settings
from xkg.errors import InputError
from xkg.model import KILLED_SHARE, Code, Level
from xkg.sandbox.evidence.harness_runs import HarnessRuns
from xkg.sandbox.evidence.levels import MUTANTS, MUTATION_SECONDS, prove
from xkg.sandbox.evidence.mutation import body_lines, mutants, stubs
from xkg.sandbox.evidence.run_slots import RunSlots
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.runner import Environment, Limits, Runner
from xkg.sandbox.select import runner_for

CASES = Path(__file__).parent / "cases"
_LIMITS = Limits(seconds=60)


class Judged(NamedTuple):
    """`level` is the level of the agent's lines by the stored test, `reason` why it is not higher. The `tried` mutants
    are those of these lines and their public functions without a body. `killed` is the number detected, `survivors`
    lists the others, one per line."""

    level: Level
    reason: str
    killed: int
    tried: int
    survivors: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether the stored test passes on the code."""
        return self.level.rank >= Level.EXECUTED.rank

    def __str__(self) -> str:
        test = "the stored test passes" if self.passes else "the stored test fails"
        mutated = f", {self.killed} of {self.tried} mutants of the new lines are noticed" if self.passes else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{test}{mutated}; level {self.level}{reason}" + "".join(f"\n  not noticed: {s}" for s in self.survivors)


def judged_file(case: str) -> str:
    """The file of the starter that gets the case's technique. Raises `InputError` for a case without a stored test."""
    try:
        fields = yaml.safe_load((CASES / case / "evidence.yaml").read_text(encoding="utf-8"))
        return str(fields["file"])
    except (OSError, KeyError, TypeError, yaml.YAMLError) as error:
        known = ", ".join(sorted(path.parent.name for path in CASES.glob("*/evidence.yaml")))
        raise InputError(f"the case {case} has no stored test: there are {known}") from error


def packages(run: Path, settings: Settings) -> tuple[Runner, Environment]:
    """The sandbox of a run, and the environment with its packages."""
    runner = runner_for(settings.sandbox)
    with agent_parsers() as parsers:
        maker = UvEnvironments(settings.environment, runner)
        return runner, packages_for(Workspace.open(run), maker, SourceReader(parsers))


def evidence(run: Path, case: str, settings: Settings) -> Judged:
    """The evidence of a case's stored test on the code of a run, with mutants of the lines that the run added or
    changed. Raises `InputError` for a case or a run without the file."""
    file = judged_file(case)
    workspace = Workspace.open(run)
    runner, environment = packages(run, settings)
    return judged(workspace.text(file), workspace.changed_lines().get(file, frozenset()), case, runner, environment)


def judged(source: str, lines: Set[int], case: str, runner: Runner, environment: Environment) -> Judged:
    """Like `evidence`, for a text whose `lines` are new."""
    test = (CASES / case / "stored_test.txt").read_text(encoding="utf-8")
    code = Code(id=f"{case}@agent", technique=case, implementation=source, test=test)
    proof = prove(code, runner, environment, _LIMITS)
    level, reason = proof.evidence.level, proof.evidence.reason or ""
    if level.rank < Level.EXECUTED.rank:
        return Judged(level, reason, 0, 0, ())
    emptied = stubs(source, lines)
    changes = list(mutants(source, body_lines(source) & lines, code.id))[:MUTANTS]
    runs = HarnessRuns(code, runner, environment, RunSlots(1), lambda: False, MUTATION_SECONDS)
    runs.first(_LIMITS)
    missed = runs.unnoticed([*emptied, *changes], _LIMITS, _LIMITS, controls=1) if changes else []
    killed, tried = len(emptied) + len(changes) - len(missed), len(emptied) + len(changes)
    if tried and not set(missed) & set(emptied) and killed >= KILLED_SHARE * tried:
        level, reason = Level.TESTED, ""
    survivors = tuple(f"line {change.line}: {change.what}" for change in missed)
    return Judged(level, reason, killed, tried, survivors)
