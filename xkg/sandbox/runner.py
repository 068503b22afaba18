"""Protocols and values for running untrusted code: a `Runner` confines a job, and an `EnvironmentMaker` provides its
packages."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from xkg.value import Value

IN_PLACE_OF_CUDA = "on the CPU in place of CUDA"


class Limits(Value):
    """Limits on wall-clock seconds, megabytes of memory (summed over all processes) and scratch disk, and kilobytes of
    output."""

    seconds: float = 60
    memory_mb: int = 4096
    disk_mb: int = 256
    processes: int = 128
    output_kb: int = 256


class Job(Value):
    """A job: the `python` arguments after the interpreter, run in a scratch folder that initially contains `files`
    (relative path → text). `site` is a read-only folder of packages (an environment) on the module path. `python` is
    the path of an interpreter other than ours, as given in an `Environment`."""

    arguments: tuple[str, ...]
    files: Mapping[str, str] = {}
    site: Path | None = None
    python: Path | None = None
    limits: Limits = Limits()


class Outcome(Value):
    """`ended` is `exited` (then `exit_code` is set), or the limit that stopped the job. `output` is decoded with
    replacement characters; if it was too long, only its end is kept. `peak_memory_mb` is the watchdog's sum over all
    processes."""

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
    """A way to confine a job. Raises `SandboxUnavailableError` if it cannot confine a job on this machine. Never raises
    because of what the job does. `weaker` lists its differences from bubblewrap, one line each."""

    name: str

    @property
    def weaker(self) -> tuple[str, ...]: ...

    def run(self, job: Job) -> Outcome: ...


class Environment(Value):
    """Installed packages for code. `site` is None if no packages are needed. `python` is their interpreter, or None for
    our own. `hash` identifies the resolved set, `packages` lists name==version, and `provided` maps imports to the
    packages that provide them. `missing` maps an import to the reason why it is not available. `incomplete` means that
    a later attempt may provide more (the registry could not be reached). `notes` are lines about the versions, for
    people to read. If `cpu` is set, CUDA code runs on the CPU in this environment."""

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
        """The name==version that provides each import, for imports whose package is installed."""
        return {name: self.provided[name] for name in sorted(imports) if name in self.provided}


class EnvironmentMaker(Protocol):
    """`make` returns one environment for top-level import names and the repository's requirement lines. `imports` may
    map each import to the names that the code imports from it; they reveal a package that only shares the name.
    `written` is the date of the code (YYYY-MM-DD); packages from that time are preferred. `declared` contains lines for
    packages that need not be imported; they are installed if they fit. `again` returns an environment created here
    before, given its hash, or None if there was none or it is no longer available."""

    def make(
        self,
        imports: Sequence[str] | Mapping[str, Sequence[str]],
        requirements: Sequence[str] = (),
        written: str | None = None,
        declared: Sequence[str] = (),
    ) -> Environment: ...

    def again(self, digest: str) -> Environment | None: ...
