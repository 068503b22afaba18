"""Run code that nobody trusts: the `Runner` protocol, one module a runner, and the environments code runs in."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from xkg.value import Value


class Limits(Value):
    """Wall seconds, megabytes of memory summed over all processes, of scratch disk, and of captured output."""

    seconds: float = 60
    memory_mb: int = 4096
    disk_mb: int = 256
    processes: int = 128
    output_kb: int = 256


class Job(Value):
    """What to run: `python` arguments after the interpreter, in a scratch folder that first holds `files` (relative
    path → text). `site` is a read-only folder of packages (an environment) put on the module path."""

    arguments: tuple[str, ...]
    files: Mapping[str, str] = {}
    site: Path | None = None
    limits: Limits = Limits()


class Outcome(Value):
    """`ended`: `exited` (then `exit_code` is set), or what stopped it. Output is decoded with replacement and holds the
    end when it was cut; `peak_memory_mb` is summed over all processes as the watchdog saw it."""

    ended: Literal["exited", "killed", "timeout", "memory", "disk", "output"]
    exit_code: int | None
    output: str
    seconds: float
    peak_memory_mb: float
    runner: str
    command: str

    @property
    def ok(self) -> bool:
        return self.ended == "exited" and self.exit_code == 0


class Runner(Protocol):
    """One way to contain a job. Raises `SandboxUnavailableError` when it cannot contain one here; never raises for what
    the job itself does. `weaker` says, a line each, what it leaves open or takes away beside bubblewrap."""

    name: str

    @property
    def weaker(self) -> tuple[str, ...]: ...

    def run(self, job: Job) -> Outcome: ...


class Environment(Value):
    """Packages made ready for code: `site` is None when none are needed. `hash` names the resolved set;
    `packages` are name==version; `missing` maps an import to why it could not be had; `incomplete` says that another
    time may give more (the registry could not be reached); `notes` are what a person should know of the versions, one
    line each."""

    site: Path | None
    hash: str
    packages: tuple[str, ...] = ()
    missing: Mapping[str, str] = {}
    incomplete: bool = False
    notes: tuple[str, ...] = ()


class EnvironmentMaker(Protocol):
    """`make` gives one environment for top-level import names and the repository's requirement lines. `imports` may map
    each to the names that the code takes from it, by which a package that only shares the name is told. `written` is
    the day (YYYY-MM-DD) that the code is from, so that packages of that time are preferred. `again` gives the one with
    that hash as it was made here before, None where it was not or cannot be had any more."""

    def make(
        self,
        imports: Sequence[str] | Mapping[str, Sequence[str]],
        requirements: Sequence[str] = (),
        written: str | None = None,
    ) -> Environment: ...

    def again(self, digest: str) -> Environment | None: ...
