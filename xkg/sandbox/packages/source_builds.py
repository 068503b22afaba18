"""Builds wheels from source distributions in a sandbox without network access or keys.

A build sees its source, its build requirements (already unpacked), the system's compiler and headers, and a temporary
in-memory scratch folder. The built wheel is untrusted, like any other wheel, and must have the same name and version as
its source. Each wheel is built once per interpreter, stored, and shared by all of a user's graphs."""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from pydantic import ValidationError

from xkg.files import file_lock, write_whole
from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.isolation import programs
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.bubblewrap_mounts import python_files
from xkg.sandbox.isolation.interpreters import Interpreter, own, uv_program
from xkg.sandbox.packages.disk_quota import Quota
from xkg.sandbox.packages.distributions import distribution_of
from xkg.sandbox.packages.installer_runs import InstallerRuns
from xkg.sandbox.packages.plan import Fetched, Installing, Source
from xkg.sandbox.packages.python_choice import first_day
from xkg.sandbox.runner import Environment, Limits

LIMITS = Limits(seconds=300, memory_mb=4096, disk_mb=1024, processes=256)
_MOST_ADDED = 3
_MOST_MB = 200
_LAST_2TO3 = "2021-09-01"
"""A day shortly before the release of setuptools 58, which removed 2to3."""
# Setuptools needs this package for builds, but old projects do not declare it.
_BESIDE = "wheel"
_LONGEST_NAME = 300
_NO_MODULE = re.compile(r"No module named '?([A-Za-z_]\w{0,100})")
_NO_COMPILER = re.compile(r"command '?[\w./-]{0,200}?(gcc|g\+\+|clang|cc|gfortran)'? (?:failed: No such|not found)")
_NO_PROGRAM = re.compile(r"(?:command|execute) '([A-Za-z][\w-]{0,50})'(?: failed)?: No such file")
_REPORTED = re.compile(r"^[ \t]*+((?:[\w.]{0,200}(?:Error|Exception)\b|error: (?!Failed to build)).*)", re.MULTILINE)


class FailedBuild(Exception):
    """Raised if a build fails, with a one-line reason. `lacks` is an undeclared module or program that the build needs.
    If `passing` is set, the failure is temporary and a later attempt may succeed."""

    def __init__(self, reason: str, lacks: str | None = None, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.lacks = lacks
        self.passing = passing


class SourceWheels:
    """Builds and stores wheels. `tools` creates a build environment from requirement lines, as of a given day, for a
    given interpreter. Builds run only in bubblewrap."""

    def __init__(
        self,
        runs: InstallerRuns,
        tools: Callable[[Sequence[str], str, Interpreter], Environment],
        notify: Callable[[Installing], None],
    ) -> None:
        self._runs, self._tools, self._notify = runs, tools, notify

    def folder(self, source: Source, pins: Sequence[str], interpreter: Interpreter, limits: Quota) -> str:
        """Returns the name of the folder in `InstallerRuns.built` that contains the wheel for a source distribution.
        Builds the wheel for use with the packages in `pins` if it does not exist yet. Raises `FailedBuild` if the wheel
        cannot be built."""
        key = f"{interpreter.tag} {source.pin} {source.sha256 or source.url}"
        target = self._runs.built / hashlib.sha256(key.encode()).hexdigest()[:32]
        failed = target / "failed"
        if not isinstance(self._runs.sandbox, BubblewrapRunner):
            raise FailedBuild("sources are built only in bubblewrap", passing=True)
        target.mkdir(parents=True, exist_ok=True)
        with file_lock(target / ".lock"):
            if any(target.glob("*.whl")):
                return target.name
            if failed.exists():
                raise FailedBuild(failed.read_text())
            name = f"{source.name} {source.version}"
            self._notify(Installing(packages=name, total_mb=0, disk_mb=0, from_source=True))
            try:
                self._make(source, pins, interpreter, limits, target)
            except FailedBuild as error:
                if not error.passing:
                    write_whole(failed, str(error).encode())
                raise
        return target.name

    def _make(self, source: Source, pins: Sequence[str], interpreter: Interpreter, limits: Quota, target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="xkg-source-") as kept:
            file, stated = self._fetched(source, interpreter, limits, Path(kept))
            stated += (_BESIDE,) if any("setuptools" in line for line in stated) else ()
            # Later versions of setuptools removed features that older projects use, such as conversion from Python 2.
            days = sorted({max(source.day, first_day(interpreter.minor)), max(source.day, _LAST_2TO3)}, reverse=True)
            for day in days:
                requires = numpy_of(stated, pins)
                for _ in range(_MOST_ADDED + 1):
                    tools = self._tools(requires, day, interpreter)
                    if tools.incomplete:
                        raise FailedBuild("its build tools could not be fetched", passing=True)
                    try:
                        return build(source, file, tools.site, interpreter, target)
                    except FailedBuild as error:
                        failure = error
                    added = numpy_of([distribution_of(failure.lacks) or failure.lacks], pins) if failure.lacks else []
                    if not added or added[0] in requires:
                        break
                    requires += added
            raise failure

    def _fetched(
        self, source: Source, interpreter: Interpreter, limits: Quota, folder: Path
    ) -> tuple[Path, tuple[str, ...]]:
        query = {"mode": "fetch", "url": source.url, "sha256": source.sha256, "max_mb": _MOST_MB}
        with self._runs.run(query, limits, interpreter) as (answer, trouble, work):
            try:
                fetched = Fetched.model_validate(answer)
            except ValidationError:
                raise FailedBuild(trouble or "its source has an unusual name", passing=bool(trouble)) from None
            left = work / "site" / fetched.file
            if fetched.error is not None or left.is_symlink() or not left.is_file():
                raise FailedBuild(fetched.error or "its source was not fetched", passing=True)
            folder.chmod(0o755)
            shutil.copyfile(left, folder / fetched.file, follow_symlinks=False)
        return folder / fetched.file, fetched.requires


def build(source: Source, file: Path, site: Path | None, interpreter: Interpreter, target: Path) -> None:
    """Builds a wheel from the source distribution `file` into the folder `target`, using the packages in `site`. Raises
    `FailedBuild` if the build fails, and `SandboxUnavailableError` if the build cannot be confined."""
    other = interpreter if interpreter != own() else None
    request = {
        "uv": str(uv_program()),
        "source": str(file),
        "python": python_files(str(site) if site else None, interpreter),
        "packages": str(site or ""),
        "interpreter": str(interpreter.program),
    }
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "wheel"
        program = programs.Program(
            (str(own().program), "-I", "-S", "-c", guest_source("build_wheel")),
            file.parent,
            LIMITS,
            reads=(file, uv_program(), *([site] if site else []), *programs.compiler_files()),
            ends=_LONGEST_NAME,
            output=output,
            other=other,
            trusted=False,
        )
        ran = programs.run(program, json.dumps(request).encode(), behind="bubblewrap")
        if not ran.ok:
            raise _failure(ran)
        name = _checked_name(ran.output, source)
        target.mkdir(parents=True, exist_ok=True)
        with output.open("rb") as built, (target / f".{name}").open("wb") as wheel:
            built.seek(len(name) + 1)
            shutil.copyfileobj(built, wheel)
    (target / f".{name}").rename(target / name)


def _checked_name(output: bytes, source: Source) -> str:
    """Returns the wheel name at the start of a build's output. Raises `FailedBuild` if the name does not match the
    source."""
    name = output.partition(b"\n")[0].decode("ascii", "replace")
    try:
        built, version, _, _ = parse_wheel_filename(name)
        if built == canonicalize_name(source.name) and version == Version(source.version):
            return name
    except (InvalidWheelFilename, InvalidVersion):
        pass
    raise FailedBuild(f"its source builds another package ({name[:80]!a})")


def _failure(ran: programs.ProgramResult) -> FailedBuild:
    if ran.ended != "exited":
        limit = {"timeout": f"{LIMITS.seconds:g} s", "memory": f"{LIMITS.memory_mb:,} MB of memory"}.get(ran.ended)
        reason = f"its build took more than {limit}" if limit else f"its build was stopped ({ran.ended})"
        return FailedBuild(reason, passing=ran.ended == "timeout")
    if compiler := _NO_COMPILER.search(ran.stderr):
        return FailedBuild(
            f"its build needs the compiler {compiler[1]}, which is not installed (apt-get install build-essential)",
            passing=True,
        )
    absent = _NO_MODULE.findall(ran.stderr) or _NO_PROGRAM.findall(ran.stderr)
    reported = _REPORTED.findall(ran.stderr) or ran.stderr.strip().splitlines() or ["no message"]
    return FailedBuild(f"its build failed ({reported[-1].strip()[:160]})", absent[-1] if absent else None)


def numpy_of(requires: Sequence[str], pins: Sequence[str]) -> list[str]:
    """Returns the requirements with NumPy pinned to its run-time version. A compiled module does not run with a NumPy
    version older than the one it was compiled against."""
    pinned = [pin for pin in pins if pin.startswith("numpy==")]
    return [pinned[0] if pinned and re.fullmatch(r"numpy\b[^;@]*", line) else line for line in requires]
