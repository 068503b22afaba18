"""Runs a command in the sandbox on a copy of a workspace's files, and counts how often each line runs."""

import base64
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from packaging.utils import canonicalize_name
from pydantic import ConfigDict

from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.host_paths import without_host_paths
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.program.metric import Metric
from xkg.agents.workspace.program.mounted_packages import importable, module_folders
from xkg.agents.workspace.program.own_packages import own_metadata, own_names, package_roots
from xkg.agents.workspace.program.shell_line import started
from xkg.agents.workspace.run_hints import hint
from xkg.build.code.source_files import decode
from xkg.build.requirements import states_requirements
from xkg.errors import InputError, MetricError, SandboxUnavailableError
from xkg.sandbox.diagnosis.cuda_failures import names_cuda
from xkg.sandbox.diagnosis.downloads import Reached, reached, wanted
from xkg.sandbox.evidence.failure_causes import last_error
from xkg.sandbox.evidence.tracebacks import TRACEBACK
from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.isolation import programs
from xkg.sandbox.isolation.bubblewrap_mounts import HOME, PYTHON, SITE, python_files
from xkg.sandbox.isolation.gpus import Gpu
from xkg.sandbox.isolation.host_proxy import Host, certificates
from xkg.sandbox.isolation.interpreters import at
from xkg.sandbox.packages.requirement_hints import version_hints
from xkg.sandbox.runner import Environment, EnvironmentMaker, Limits, Runner
from xkg.text.unicode import printable_line
from xkg.value import Value

_TREE = "../../../../work"  # relative to the package folder in a run's environment
ADDED = "requirements-xkg.txt"
"""The name of the requirements file that xkg adds to a tree, which overrides the requirements in the tree's own
files."""

_BASH = ("bash", "-eo", "pipefail", "-c")  # the shell and options that GitHub Actions uses for a step
_GRACE_SECONDS = 15
_REPORT_KB = 16 << 10
_ENDS = 1 << 20

# Before Python 3.9, tracebacks show a script's path as written in the command.
_FRAME = re.compile(rf'File "(?:{HOME}/work/)?([^"/<\n][^"\n]{{0,199}})", line (\d{{1,7}})')


class Left(NamedTuple):
    """The files that a run left behind, as an archive that starts at a byte offset in a file."""

    file: Path
    start: int


class Evaluated(Value):
    """The result of a second command that measures a run's files: the command's output, and the wanted files that the
    command left behind."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    command: str
    output: str
    files: Mapping[str, bytes] = {}


class RunResult(Value):
    """The result of a run. `output` combines stdout and stderr. If the output is longer than 2 MB, its middle is left
    out. `lines` counts how often each executed line in the traced files ran. `lines` is None if the run was not traced
    or the sandbox was killed. For awaited lines, `lines` contains at least one line from each group that ran. `gave_up`
    means that tracing stopped early, so other groups may also have run. `opened` lists the tree's files that a traced
    run opened, or is None if unknown. `printed` is the file and line that last printed a match for the pattern. `files`
    contains the wanted files that exist. `problem` is a one-line error, or None. `removed` lists at most 20 of the
    tree's files that the run removed from its copy. `rewritten` lists the tree's files that the run changed. If
    `evaluated` is set, it contains the metric. `apart` means that no edited file was present when the metric was
    computed. `left_at` is the offset of the archive of files left behind, or None. `downloads` lists failed network
    requests. `refused` lists hosts that the run was not allowed to reach. `lacks_gpu` means that the run failed because
    CUDA is missing."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    command: str
    ended: Literal["exited", "killed", "timeout", "memory", "disk", "output"]
    exit_code: int | None
    output: str
    seconds: float
    lines: dict[str, dict[int, int]] | None = None
    gave_up: bool = False
    opened: tuple[str, ...] | None = None
    printed: tuple[str, int] | None = None
    files: Mapping[str, bytes] = {}
    problem: str | None = None
    removed: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    evaluated: Evaluated | None = None
    apart: bool = False
    left_at: int | None = None
    lacks_gpu: bool = False
    downloads: tuple[Reached, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.ended == "exited" and self.exit_code == 0

    def metric_or_problem(self, metric: Metric, reader: SourceReader) -> tuple[float | None, str | None]:
        """Returns the metric's value, or a message that says why there is none."""
        try:
            source = self.evaluated or self
            return reader.metric(metric, source.output, source.files), None
        except MetricError as error:
            return None, str(error)

    def claimed(self, metric: Metric, reader: SourceReader) -> float | None:
        """If a second command measured the run, returns the metric that the run itself reported. Returns None
        otherwise, or if the run reported no value."""
        own = self.model_copy(update={"evaluated": None})
        return None if self.evaluated is None else own.metric_or_problem(metric, reader)[0]


class Commands:
    """Runs commands in workspaces with one set of packages. `data` maps paths in the tree to read-only folders or files
    on this machine. `variables` are added to the sandbox's environment. `gpu` is a GPU that runs may use.
    `limits.disk_mb` limits the data that a run writes, including its copy of the tree. `fetched` contains the files
    that a `fetch` command left behind. Each run starts with these files in their original state.

    Raises `InputError` if data does not exist or would hide a file in the tree."""

    def __init__(
        self,
        runner: Runner,
        environment: Environment,
        limits: Limits,
        data: Mapping[str, Path] | None = None,
        variables: Mapping[str, str] | None = None,
        gpu: Gpu | None = None,
        fetched: Left | None = None,
    ) -> None:
        self.environment = environment
        self.limits = limits
        self._runner = runner
        self._data = placed(data)
        self._variables = {**(gpu.variables if gpu else {}), **(variables or {})}
        self._gpu = gpu
        self._fetched = fetched
        for name, place in self._data.items():
            if not place.exists():
                raise InputError(f"--data {name}: {place} does not exist")
            if not name or ".." in name.split("/"):
                raise InputError(f"--data {name!a}; use a path inside the starter, as in data=/datasets/cifar")

    def within(self, seconds: float) -> "Commands":
        """Returns a copy of these commands with a time limit of at most `seconds`."""
        found = copy(self)
        found.limits = self.limits.model_copy(update={"seconds": min(seconds, self.limits.seconds)})
        return found

    def run(
        self,
        workspace: Workspace,
        command: str,
        *,
        trace: Sequence[str] = (),
        printed: str = "",
        wanted: Sequence[str] = (),
        awaited: Mapping[str, Sequence[Sequence[int]]] | None = None,
        without: Collection[str] = (),
        leaves: Path | None = None,
        left: Left | None = None,
        outputs: Collection[str] = (),
        hosts: frozenset[Host] = frozenset(),
        first: Sequence[str] = (),
    ) -> RunResult:
        """Runs a shell command with Bash, stopping at the first failure, and returns the result. `trace` lists Python
        files in the tree. These files run more slowly, and the result counts how often each of their lines ran.
        `printed` is a pattern, and the result includes the line of code that last printed a match. `wanted` lists the
        files that the command should leave behind. `awaited` maps files to groups of lines. The trace records whether
        any line in each group ran, and stops once every group has run.

        `leaves` is an archive for the files that the command creates or overwrites (`RunResult.left_at`). A later
        command receives these files as `left`, except hidden files, files in `wanted`, and files that Python could
        import. Files in the tree are also excluded, unless `outputs` contains them. Files in `without` are absent. If
        `hosts` is not empty, the command can reach these hosts through a proxy, and its whole home folder is kept for
        later runs (`fetched`). `first` lists modules from `sandbox.guest` that each Python process imports before other
        code runs.

        If the command fails, the result describes the failure. Raises `InputError` if the command cannot be split, and
        `SandboxUnavailableError` if the command cannot be confined."""
        started(command)
        if hosts and self._runner.name == "landlock":
            raise SandboxUnavailableError("Landlock cannot limit which hosts a command reaches; use bubblewrap")
        trusted = certificates() if hosts else {}
        for name in self._data:
            if any(path == name or path.startswith(f"{name}/") for path in workspace.files):
                raise InputError(f"--data {name}: the starter has a file there; choose another path")
        traced = {
            path: workspace.text(path).count("\n") + 1
            for path in trace
            if path in workspace.files and path not in without and path.endswith(".py")
        }
        awaited = {path: groups for path, groups in (awaited or {}).items() if path not in without}
        site = self.environment.site.resolve() if self.environment.site else None
        metadata = own_metadata({path: file.content for path, file in workspace.files.items()})
        python = at(self.environment.python)
        installed = {f"{python.packages}/{path}": text for path, text in metadata.items()}
        own = [f"{_TREE}/{root}" for root in package_roots(workspace.files)]
        module_path = (*own, *((site,) if site else ()), *module_folders(self._data))
        request = {
            "command": [*_BASH, command],
            "seconds": self.limits.seconds,
            "data": {name: str(place) for name, place in self._data.items()},
            "python": python_files("\n".join(map(str, module_path)), python, self._first(first)) | installed,
            "interpreter": str(python.program),
            "programs": ["python", "python3", f"python{python.version}"],
            "traced": traced,
            "printed": printed,
            "wanted": list(wanted),
            "awaited": {path: [list(lines) for lines in groups] for path, groups in awaited.items()},
            "tracer": guest_source("line_trace"),
            "variables": {**{name: str(place) for name, place in trusted.items()}, **self._variables},
            "without": sorted(without),
            "leaves": leaves is not None,
            "left": None if left is None else (str(left.file), left.start),
            "outputs": sorted(outputs),
            "fetches": bool(hosts),
            "fetched": None if self._fetched is None else (str(self._fetched.file), self._fetched.start),
        }
        limits = self.limits.model_copy(
            update={"seconds": self.limits.seconds + _GRACE_SECONDS, "output_kb": _REPORT_KB}
        )
        program = programs.Program(
            (str(at(None).program), "-I", "-S", "-c", guest_source("run_in_copy")),
            workspace.tree.resolve(),
            limits,
            reads=(
                *self._data.values(),
                *programs.compiler_files(),
                *((site,) if site else ()),
                *((left.file,) if left else ()),
                *((self._fetched.file,) if self._fetched else ()),
                *trusted.values(),
                *(self._gpu.reads if self._gpu else ()),
            ),
            devices=self._gpu.nodes if self._gpu else (),
            ends=_ENDS,
            output=leaves,
            other=python if self.environment.python else None,
            trusted=False,
            hosts=hosts,
            max_bytes=self.limits.disk_mb << 20,
            public=True,
        )
        if self._runner.name == "container":
            raise SandboxUnavailableError(
                "a container engine cannot run commands in a workspace; use bubblewrap or Landlock (sandbox.runner)"
            )
        behind = {"bubblewrap": "bubblewrap", "landlock": "landlock"}.get(self._runner.name)
        ran = programs.run(program, json.dumps(request).encode(), behind=behind)  # type: ignore[arg-type]
        report = _report(ran.stderr) if ran.ok else None
        if leaves is not None and report and "left_at" in report:
            ran = replace(ran, **_beginning(leaves, int(report["left_at"])))
        return self._result(command, ran, report, workspace)

    def _first(self, more: Sequence[str]) -> dict[str, str]:
        names = ("network_record", *(("no_gpu",) if self.environment.cpu else ()), *more)
        return {f"_xkg_{name}": guest_source(name) for name in names}

    def _result(
        self, command: str, ran: programs.ProgramResult, report: dict[str, Any] | None, workspace: Workspace
    ) -> RunResult:
        output = ran.output.decode("utf-8", "replace")
        if ran.omitted:
            start = ran.output[:_ENDS].decode("utf-8", "replace")
            end = ran.output[_ENDS:].decode("utf-8", "replace")
            output = f"{start}\n[… {ran.omitted:,} bytes left out …]\n{end}"
        output = without_host_paths(output, self._places(str(report.get("home", "")) if report else ""))
        if ran.ok and report is None:
            raise SandboxUnavailableError(f"the sandbox did not report on a run ({ran.stderr[-200:]!a}); try again")
        ended = report["ended"] if report else ran.ended
        exit_code = report["exit_code"] if report else None
        if ended == "exited" and exit_code is None and report and not report.get("error"):
            ended = "killed"
        lines = report and report.get("lines")
        result = RunResult(
            command=command,
            ended=ended,
            exit_code=exit_code,
            output=output,
            seconds=ran.seconds,
            lines=None if lines is None else {p: {int(n): c for n, c in of.items()} for p, of in lines.items()},
            gave_up=bool(report and report.get("gave_up")),
            opened=tuple(report["opened"]) if report and report.get("opened") is not None else None,
            printed=(report or {}).get("printed"),
            files={name: base64.b64decode(text) for name, text in (report["files"] if report else {}).items()},
            lacks_gpu=exit_code != 0 and self._gpu is None and names_cuda(output, on_cpu=self.environment.cpu),
            downloads=wanted(reached(str(report.get("reached", ""))), output) if report and exit_code != 0 else (),
            refused=tuple(sorted(ran.refused)),
            removed=tuple(str(name) for name in (report or {}).get("removed", ())),
            rewritten=tuple(str(name) for name in (report or {}).get("rewritten", ())),
            left_at=report["left_at"] if report and report.get("left") else None,
        )
        problem = self._problem(result, report.get("error") if report else None, workspace)
        return result.model_copy(update={"problem": problem})

    def _places(self, home: str) -> dict[str, str]:
        """Returns the host paths that a run sees, with their replacements. `home` is the run's home folder."""
        site = self.environment.site.resolve() if self.environment.site else None
        prefix = at(self.environment.python).prefix
        return {
            **{str(place): f"{HOME}/work/{name}" for name, place in self._data.items()},
            **({str(site): SITE} if site else {}),
            **({home: HOME} if home else {}),
            **({str(prefix): PYTHON} if prefix != Path("/usr") else {}),
        }

    def _problem(self, result: RunResult, error: str | None, workspace: Workspace) -> str | None:
        if error is not None:
            return f"it could not be started: {error}"
        if result.ended == "exited":
            if result.exit_code == 0:
                return None
            if result.exit_code == 153:
                return f"it wrote more than {self.limits.disk_mb} MB to one file or to its output"
            last = _last_error(result.output)
            found = hint(
                result.output,
                result.command,
                workspace,
                result.downloads,
                result.refused,
                cuda=result.lacks_gpu,
                cpu=self.environment.cpu,
            )
            if "No space left on device" in last:
                found = f"a run may write {self.limits.disk_mb} MB"
            explained = f" ({found})" if found else ""
            return f"it ended with status {result.exit_code}: {last[:300]}{_where(result.output)}{explained}"
        return {
            "timeout": f"it did not finish within {self.limits.seconds:g} s",
            "memory": f"it used more than {self.limits.memory_mb} MB of memory",
            "disk": f"it wrote more than {self.limits.disk_mb} MB",
            "output": "its output never ended",
        }.get(result.ended, "it was killed by the system, or because it started too many processes")


def placed(data: Mapping[str, Path] | None) -> dict[str, Path]:
    """Maps paths in the tree to folders and files on this machine. Resolves symbolic links."""
    return {name.strip("/"): place.expanduser().resolve() for name, place in (data or {}).items()}


def _last_error(output: str) -> str:
    """Returns the first line of the last Python error, without notes or later output, or the output's last line if
    there is no error."""
    kind, message = last_error(output[-_ENDS:])
    if kind.endswith("Error") or (kind and TRACEBACK in output):
        return f"{kind}: {message.partition(chr(10))[0]}".removesuffix(": ")
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "it printed nothing")


def _where(output: str) -> str:
    places = _FRAME.findall(output[-_ENDS:])
    return f" ({places[-1][0]}:{places[-1][1]})" if places else ""


def packages_for(
    workspace: Workspace,
    maker: EnvironmentMaker | None,
    reader: SourceReader,
    written: str | None = None,
    data: Mapping[str, Path] | None = None,
    modules: Sequence[str] = (),
    command: str = "",
) -> Environment:
    """Returns an environment for a workspace. The environment contains the packages that the Python files import (in
    the versions from requirement files) and the packages that requirement files declare. The environment also contains
    packages that provide `modules`, which were missing at run time. If `command` starts some of the files, only the
    imports of these files and the packages in `ADDED` are installed. Modules in the tree itself or in `data` (see
    `Commands`) are not installed. The notes list files that cannot be parsed. Raises `UnsafeInputError` if too many
    files cannot be parsed."""
    texts = {
        path: text
        for path, file in workspace.files.items()
        if (path.endswith(".py") or states_requirements(path)) and "\0" not in (text := decode(file.content))
    }
    given = importable(placed(data))
    stated = reader.packages(
        {path: text for path, text in texts.items() if path.endswith(".py")},
        {path: text for path, text in texts.items() if states_requirements(path)},
        _with_scripts(command, workspace),
    )
    added = texts.get(ADDED, "").splitlines()
    lines = [*added, *stated.lines]
    required = version_hints(lines)
    imports = dict.fromkeys(modules, ()) | stated.imports
    own = own_names(workspace.files, imports)
    served = own.served - {name for name in own.nested if canonicalize_name(name) in required}
    needed = {name: names for name, names in imports.items() if name not in served | given}
    provided = {canonicalize_name(name) for name in given | own.hidden}
    declared = [line for line in (*added, *stated.declared) if not version_hints([line]).keys() <= provided]
    notes = tuple(
        f"{printable_line(path)} cannot be parsed ({why}), so the packages that it requires are unknown"
        for path, why in stated.unknown.items()
    )
    if maker is None:
        missing = dict.fromkeys(needed, "this machine has no sandbox for installing packages")
        return Environment(site=None, hash="", missing=missing, notes=notes)
    made = maker.make(needed, lines, written, declared)
    return made.model_copy(update={"notes": (*made.notes, *notes)}) if notes else made


def _with_scripts(command: str, workspace: Workspace) -> str:
    scripts = {program.script(workspace.files) for program in started(command)} if command else set()
    return "\n".join([command, *(workspace.text(path) for path in sorted(filter(None, scripts)) if path[-3:] == ".sh")])


def cut_middle(text: str, characters: int) -> str:
    """Returns the text. If the text is too long, replaces its middle with a line that says how much was cut."""
    if len(text) <= characters:
        return text
    half = characters // 2
    start, end = text[:half], text[-half:]
    middle = text[half:-half]
    return f"{start}\n[… {len(middle):,} characters, {middle.count(chr(10)):,} lines left out …]\n{end}"


def numbered(lines: Iterable[str], first: int = 1) -> str:
    """Prefixes lines with their numbers, starting at `first`."""
    return "\n".join(f"{number:>5}  {line}" for number, line in enumerate(lines, first))


def with_counts(text: str, lines: Mapping[int, int], code: Set[int], marked: Set[int]) -> str:
    """Returns the `marked` lines in a Python file, prefixed with `+`, with two lines of context on each side. Each line
    shows its number and run count. The count is `-` if a line in `code` never ran, and empty for lines that cannot run
    (comments, docstrings)."""
    shown = []
    last = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not any(near in marked for near in range(number - 2, number + 3)):
            continue
        if last and number > last + 1:
            shown.append("        …")
        last = number
        count = lines.get(number, "-" if number in code else "")
        shown.append(f"{count:>8} {'+' if number in marked else ' '}{number:>5}  {line}")
    return "\n".join(shown)


def _report(stderr: str) -> dict[str, Any] | None:
    try:
        report = json.loads(stderr)
    except ValueError:
        return None
    return report if isinstance(report, dict) and {"ended", "exit_code", "files"} <= report.keys() else None


def _beginning(file: Path, size: int) -> dict[str, Any]:
    """Returns at most `size` bytes of an output file. If the file is larger, leaves out the middle."""
    with file.open("rb") as opened:
        if size <= 2 * _ENDS:
            return {"output": opened.read(size), "omitted": 0}
        start = opened.read(_ENDS)
        opened.seek(size - _ENDS)
        return {"output": start + opened.read(_ENDS), "omitted": size - 2 * _ENDS}
