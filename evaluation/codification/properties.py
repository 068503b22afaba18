"""Whether code has the properties of its method: runs a case's `property.py` on the code of a run in the sandbox.

Such a test is written before any run. Generated data cannot show that a method helps; these tests show whether it was
implemented."""

from pathlib import Path
from typing import NamedTuple

from xkg.agents.parsers import agent_parsers
from xkg.agents.workspace.command import Commands, packages_for
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.workspace import Workspace
from xkg.config import Settings
from xkg.errors import InputError
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.runner import Limits
from xkg.sandbox.select import runner_for

CASES = Path(__file__).parent / "cases"
_AT = "xkg_property"


class Properties(NamedTuple):
    """The result for one run: how many properties hold, and a line for each that does not."""

    run: str
    held: int
    of: int
    failed: tuple[str, ...]

    def __str__(self) -> str:
        failed = "".join(f"\n  {line}" for line in self.failed)
        return f"{self.run}: {self.held} of {self.of} properties hold{failed}"


def properties(run: Path, case: str, settings: Settings) -> Properties:
    """Runs the test of a case in `cases/` on the code of a run. Raises `InputError` for an unknown case, and if the
    test itself fails."""
    folder = CASES / case
    if not (folder / "property.py").is_file():
        known = ", ".join(sorted(path.parent.name for path in CASES.glob("*/property.py")))
        raise InputError(f"there is no case {case}: there are {known}")
    workspace = Workspace.open(run)
    runner = runner_for(settings.sandbox)
    maker = UvEnvironments(settings.environment, runner)
    with agent_parsers() as parsers:
        reader = SourceReader(parsers)
        environment = packages_for(workspace, maker, reader)
    options = settings.implement
    limits = Limits(seconds=options.seconds, memory_mb=options.memory_mb, disk_mb=options.disk_mb)
    commands = Commands(runner, environment, limits, data={_AT: folder})
    result = commands.run(workspace, f"python {_AT}/property.py")
    lines = [line for line in result.output.splitlines() if line.startswith(("ok ", "failed "))]
    if not lines:
        raise InputError(f"the test of {case} gave no result on {run.name}: {result.problem or result.output[-300:]}")
    failed = tuple(line for line in lines if line.startswith("failed "))
    return Properties(run.name, len(lines) - len(failed), len(lines), failed)
