"""Protocols and data types for running untrusted code. A `Runner` confines a job, and an `EnvironmentMaker` provides
its packages."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from xkg.value import Value

IN_PLACE_OF_CUDA = "on the CPU in place of CUDA"


class Limits(Value):
    """Limits for a job: wall-clock time in seconds, memory (summed over all processes) and scratch disk in MB, and
    output in kB."""

    seconds: float = 60
    memory_mb: int = 4096
    disk_mb: int = 256
    processes: int = 128
    output_kb: int = 256


class Job(Value):
    """A Python command to run in a scratch folder. The command consists of the interpreter and `arguments`. Before it
    starts, `files` (relative path → text) are written to the folder. `site` is a read-only folder of packages (an
    environment) on the module path. `python` is the path to an interpreter other than xkg's own, as given in an
    `Environment`."""

    arguments: tuple[str, ...]
    files: Mapping[str, str] = {}
    site: Path | None = None
    python: Path | None = None
    limits: Limits = Limits()


class Outcome(Value):
    """The result of a job. `ended` is `exited` (with `exit_code` set), `killed`, or the limit that stopped the job.
    In `output`, bytes that cannot be decoded are replaced. If the output is too long, only its end is kept.
    `peak_memory_mb` is the total over all processes, as measured by the watchdog."""

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
    """A way to confine a job. `run` raises `SandboxUnavailableError` if jobs cannot be confined on this machine, but
    never because of what a job does. `weaker` lists the ways in which the runner is weaker than bubblewrap, one line
    each."""

    name: str

    @property
    def weaker(self) -> tuple[str, ...]: ...

    def run(self, job: Job) -> Outcome: ...


class Environment(Value):
    """The packages installed for a job. `site` is None if no packages are needed. `python` is the interpreter for these
    packages, or None for xkg's own. `hash` identifies the resolved set, `packages` lists name==version, and `provided`
    maps each import to the package that provides it. `missing` maps each unavailable import to the reason. `incomplete`
    means that a later attempt may provide more packages, because the registry could not be reached. `notes` are
    human-readable lines about the versions. If `cpu` is set, this environment runs CUDA code on the CPU."""

    site: Path | None
    hash: str
    python: Path | None = None
    packages: tuple[str, ...] = ()
    provided: Mapping[str, str] = {}
    missing: Mapping[str, str] = {}
    incomplete: bool = False
    notes: tuple[str, ...] = ()
    cpu: bool = False

    def providers(self, imports: Iterable[str]) -> dict[str, str]:
        """Maps each import whose package is installed to that package (name==version)."""
        return {name: self.provided[name] for name in sorted(imports) if name in self.provided}


class EnvironmentMaker(Protocol):
    """`make` returns an environment for top-level import names and the repository's requirement lines. `imports` may
    map each import to the names that the code imports from it, which helps to detect unrelated packages with the same
    name. `written` is the date of the code (YYYY-MM-DD). Package versions from that time are preferred. `declared`
    contains requirement lines for packages that the code may not import. These packages are installed if they are
    compatible. `again` looks up a previously created environment by its hash, and returns None if no such environment
    is available."""

    def make(
        self,
        imports: Mapping[str, Sequence[str]] | Iterable[str],
        requirements: Sequence[str] = (),
        written: str | None = None,
        declared: Sequence[str] = (),
    ) -> Environment: ...

    def again(self, digest: str) -> Environment | None: ...
