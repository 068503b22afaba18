"""Builds wheels from source distributions in a sandbox without network access or keys.

A build sees its source, its build requirements (already unpacked), the system's compiler and headers, and a temporary
in-memory scratch folder. The built wheel is untrusted, like any other wheel, and must have the same name and version as
its source. Wheels are stored by source and interpreter, and shared by all of a user's graphs."""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from xkg.files import write_whole
from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.isolation import programs
from xkg.sandbox.isolation.bubblewrap_mounts import python_files
from xkg.sandbox.isolation.interpreters import Interpreter, own, uv_program
from xkg.sandbox.packages.plan import Source
from xkg.sandbox.runner import Limits

LIMITS = Limits(seconds=300, memory_mb=4096, disk_mb=1024, processes=256)
_LONGEST_NAME = 300
_NO_MODULE = re.compile(r"No module named '?([A-Za-z_]\w{0,100})")
_NO_COMPILER = re.compile(r"command '?[\w./-]{0,200}?(gcc|g\+\+|clang|cc|gfortran)'? (?:failed: No such|not found)")
_NO_PROGRAM = re.compile(r"(?:command|execute) '([A-Za-z][\w-]{0,50})'(?: failed)?: No such file")
_REPORTED = re.compile(r"^[ \t]*+((?:[\w.]{0,200}(?:Error|Exception)\b|error: (?!Failed to build)).*)", re.MULTILINE)


def folder_of(source: Source, interpreter: Interpreter) -> str:
    """The name of the store folder for a wheel built from a source distribution."""
    key = f"{interpreter.tag} {source.pin} {source.sha256 or source.url}"
    return hashlib.sha256(key.encode()).hexdigest()[:32]


class FailedBuild(Exception):
    """A build failed, with a one-line reason. `lacks` is an undeclared module or program that the build needs.
    `passing` means that a later attempt may succeed."""

    def __init__(self, reason: str, lacks: str | None = None, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.lacks = lacks
        self.passing = passing


def build(source: Source, file: Path, site: Path | None, interpreter: Interpreter, target: Path) -> None:
    """Builds a wheel from the source distribution `file` into the folder `target`, using the packages in `site`. Raises
    `FailedBuild` and `SandboxUnavailableError`."""
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


def stored(target: Path) -> bool:
    """Whether a store folder contains a wheel."""
    return any(target.glob("*.whl"))


def stored_failure(target: Path) -> str | None:
    """The reason why an earlier build failed, or None."""
    try:
        return (target / "failed").read_text()
    except OSError:
        return None


def store_failure(target: Path, reason: str) -> None:
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / "failed", reason.encode())


def numpy_of(requires: Sequence[str], pins: Sequence[str]) -> list[str]:
    """Returns the requirements with NumPy pinned to its run-time version, because compiled modules do not run with a
    NumPy version older than the one at compile time."""
    pinned = [pin for pin in pins if pin.startswith("numpy==")]
    return [pinned[0] if pinned and re.fullmatch(r"numpy\b[^;@]*", line) else line for line in requires]
