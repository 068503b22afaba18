"""Finds the interpreters on this machine that can run code: xkg's own, and others found by uv."""

import functools
import json
import os
import platform
import site
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from xkg.errors import SandboxUnavailableError

OLDEST, NEWEST = 7, 14
"""The oldest and newest minor versions of Python 3 that the sandbox's guest modules support."""

_SECONDS = 120
"""The time limit for uv. uv starts each interpreter once, which is slow on a busy machine."""
_FACTS = (
    "import json, site, sys; print(json.dumps([sys.version_info[1:3], sys.base_prefix, "
    "site.getsitepackages([sys.base_prefix])]))"
)


class Interpreter(NamedTuple):
    """An interpreter on this machine. `prefix` is the installation folder, and `hidden` lists the package folders in
    it."""

    program: Path
    minor: int
    patch: int
    prefix: Path
    hidden: tuple[Path, ...]

    @property
    def version(self) -> str:
        return f"3.{self.minor}"

    @property
    def full(self) -> str:
        return f"{self.version}.{self.patch}"

    @property
    def tag(self) -> str:
        """Returns the platform tag of the interpreter's bytecode and compiled modules."""
        return f"cpython-3{self.minor}-{sys.platform}-{platform.machine()}"

    @property
    def packages(self) -> str:
        """Returns the package folder's path in a virtual environment."""
        return f"lib/python{self.version}/site-packages"


@functools.cache
def own() -> Interpreter:
    """Returns the base interpreter of this process's virtual environment."""
    minor = sys.version_info.minor
    named = Path(sys.base_prefix) / "bin" / f"python3.{minor}"
    program = named if named.exists() else Path(sys.executable).resolve()
    hidden = tuple(Path(folder) for folder in site.getsitepackages([sys.base_prefix]))
    return Interpreter(program, minor, sys.version_info.micro, Path(sys.base_prefix), hidden)


def at(program: Path | None) -> Interpreter:
    """Returns the interpreter at this path, or xkg's own if it is None. Raises `SandboxUnavailableError` if the
    interpreter does not run."""
    return own() if program is None else _described(program)


@functools.cache
def _described(program: Path) -> Interpreter:
    try:
        ran = subprocess.run(
            (program, "-I", "-c", _FACTS), capture_output=True, text=True, timeout=_SECONDS, check=True, env={}
        )
        (minor, patch), prefix, hidden = json.loads(ran.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SandboxUnavailableError(f"the interpreter {program} does not run ({error}); reinstall it") from error
    return Interpreter(program, minor, patch, Path(prefix), tuple(map(Path, hidden)))


@functools.cache
def installed() -> dict[str, Path]:
    """Maps the versions of other interpreters, such as "3.8", to their paths. The search covers the CPython versions
    found by uv, including pyenv's. Returns an empty mapping if uv is missing. The search runs once per process."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    # pyenv's shims run only the selected versions, and other shims take a second to fail.
    path = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(folder).name != "shims"]
    path += sorted(map(str, pyenv.glob("versions/*/bin")))
    listing = ("python", "list", "--only-installed", "--no-config", "--offline", "--output-format", "json")
    found: dict[str, Path] = {}
    try:
        ran = subprocess.run(
            (uv_program(), *listing),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
            env={**os.environ, "PATH": os.pathsep.join(path)},
        )
        for entry in json.loads(ran.stdout):
            parts, plain = entry["version_parts"], (entry["implementation"], entry["variant"]) == ("cpython", "default")
            minor = parts["minor"] if parts["major"] == 3 and plain else 0
            if OLDEST <= minor <= NEWEST and minor != own().minor:
                found.setdefault(f"3.{minor}", Path(entry["path"]))
    except (ImportError, OSError, ValueError, LookupError, TypeError, subprocess.SubprocessError):
        return {}
    return found


def download(version: str) -> Path | None:
    """Downloads an interpreter with uv. Returns None if the version is not available."""
    command = (uv_program(), "python", "install", "--no-config", "--no-bin", version)
    try:
        subprocess.run(command, capture_output=True, timeout=600, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    installed.cache_clear()
    return installed().get(version)


@functools.cache
def uv_program() -> Path:
    import uv

    return Path(uv.find_uv_bin()).resolve()
