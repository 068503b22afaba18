"""Calls uv's resolver and installer. Runs inside the sandbox and uses only the standard library."""

import contextlib
import copy
import itertools
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from xkg.sandbox.packages.clashes import clash_bounds
from xkg.sandbox.packages.toml_text import read_toml
from xkg.sandbox.packages.wheels import Failed, Unreachable, Wheel

_LONGEST_LOCK = 50_000_000  # uv lists every wheel of every package
_WITHOUT_WHEEL = re.compile(
    r"(?:all versions of (\S{1,200}+)|\b([A-Za-z0-9][\w.-]{0,200}+)((?:[<>=!~]=?[\w.*+]{1,60}+,?){0,9}+))"
    r" ha(?:s|ve) no (?:usable )?wheels"
)
_BEFORE = "3.6"
"""A Python version older than any supported version. uv does not list wheels for even older versions."""
_EVER = "2999-12-31"
_UNREACHABLE = ("tunnel", "connect", "dns error", "timed out", "error sending request", "server error", "end of file")


class Uv:
    """Calls uv with fixed settings. Versions published after the day `newest` are ignored. `cpu` is the URL of an index
    with CPU-only PyTorch builds, which are preferred. `python` is the Python version of the wheels (this interpreter's
    by default). `built` lists additional folders of wheels, and `failed` maps packages that could not be built to the
    reason. `without_wheel` collects requirements that no wheel satisfies."""

    def __init__(
        self,
        program: str,
        cache: str,
        newest: str | None = None,
        cpu: str | None = None,
        python: str | None = None,
        built: Sequence[str] = (),
        failed: Mapping[str, str] | None = None,
    ) -> None:
        self.cache = cache
        self.without_wheel: dict[str, None] = {}
        self._python = python
        self._failed = failed or {}
        self._free: tuple[str, ...] = ()
        self._built = tuple(option for folder in built for option in ("--find-links", folder))
        self._base = (program, "pip")
        self.newest = newest or ""
        self._cpu = ("--index", cpu, "--index-strategy", "unsafe-best-match") if cpu else ()
        self._options = ("--no-config", "--no-progress", "--quiet")
        self._places = ("--python", sys.executable, "--cache-dir", cache)
        self._resolved: dict[tuple[str, ...], list[Wheel] | Failed] = {}

    @property
    def _dated(self) -> tuple[str, ...]:
        free = (option for name in self._free for option in ("--exclude-newer-package", f"{name}={_EVER}"))
        return ("--exclude-newer", self.newest, *free) if self.newest else ()

    def of_any_day(self, names: Sequence[str]) -> "Uv":
        """Returns a copy that accepts versions of these packages from any day."""
        other = self.until(self.newest)
        other._free = tuple(names)
        return other

    def until(self, day: str) -> "Uv":
        """Returns a copy that ignores versions published after a day."""
        other = self.aside()
        other.newest, other._resolved = day, {}
        return other

    def aside(self) -> "Uv":
        """Returns a copy with a separate, empty `without_wheel`."""
        other = copy.copy(self)
        other.without_wheel = {}
        return other

    def first_day(self, names: Iterable[str]) -> str:
        """Returns the first day on which each of these packages (names or pins) had a version with a wheel, or '' if
        unknown."""
        lines = list(names)
        try:
            first = self._packages(lines, ("--no-deps", "--resolution", "lowest-direct"))
        except Failed:
            return ""
        wheels = [package["wheels"][0] for package in first]
        return max((str(wheel.get("upload-time", "")) for wheel in wheels), default="")[:10]

    def _run(self, *arguments: str, stdin: str, wheels: bool = True) -> str:
        only = ("--only-binary", ":all:") if wheels else ()
        ran = subprocess.run(
            (*self._base, *arguments, *only, *self._options, *self._places),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode != 0:
            lacking = _without_wheel(ran.stderr)
            self.without_wheel |= dict.fromkeys(lacking)
            for line in lacking:
                if (name := name_of(line)) in self._failed:
                    raise Failed(f"no wheel, and {self._failed[name]}")
            raise failure_of(ran.stderr)
        return ran.stdout

    def resolve(self, requirements: Iterable[str], *options: str) -> list[Wheel]:
        """Resolves requirements to a set of wheels. Raises `Failed` if there is no such set."""
        key = tuple(requirements)
        if (*key, *options) not in self._resolved:
            try:
                self._resolved[*key, *options] = self._locked(key, options)
            except Failed as error:
                self._resolved[*key, *options] = error
        outcome = self._resolved[*key, *options]
        if isinstance(outcome, Failed):
            raise outcome
        return outcome

    def _locked(self, requirement_lines: Sequence[str], options: Sequence[str]) -> list[Wheel]:
        wheels = self._compiled(requirement_lines, (*self._dated, *options))
        if options:
            return wheels
        if bounds := clash_bounds({wheel.name: wheel.version for wheel in wheels}):
            with contextlib.suppress(Failed):
                wheels = self._constrained(requirement_lines, bounds, self._dated)
        if self._cpu and any(wheel.name == "torch" for wheel in wheels):
            # Resolve the same versions again with the CPU index.
            # A CPU build (2.9+cpu) sorts after the plain version and needs no CUDA packages.
            with contextlib.suppress(Failed):
                wheels = self._constrained(requirement_lines, [wheel.pin for wheel in wheels], self._cpu)
        return wheels

    def _constrained(self, lines: Sequence[str], bounds: Sequence[str], options: Sequence[str]) -> list[Wheel]:
        with tempfile.NamedTemporaryFile("w", dir=".", suffix=".txt") as file:
            file.write("\n".join(bounds))
            file.flush()
            return self._compiled(lines, ("--constraint", file.name, *options))

    def _compiled(self, requirement_lines: Sequence[str], options: Sequence[str]) -> list[Wheel]:
        return [
            Wheel(package["name"], package["version"], wheel["url"], _sha256(wheel))
            for package in self._packages(requirement_lines, options)
            for wheel in package.get("wheels", ())[:1]
        ]

    def _packages(
        self, requirement_lines: Sequence[str], options: Sequence[str], *, wheels: bool = True
    ) -> list[dict[str, Any]]:
        stdin = "\n".join(requirement_lines)
        # Allow pre-releases only if a requirement specifies one, because older code may not be compatible with them.
        if self._python and "--python-version" not in options:
            options = (*options, "--python-version", self._python)
        options = ("--format", "pylock.toml", "--prerelease", "explicit", *self._built, *options)
        lock = self._run("compile", "-", *options, stdin=stdin, wheels=wheels)
        return list(read_toml(lock, _LONGEST_LOCK).get("packages", ()))

    def offer(self, line: str, versions: Sequence[str]) -> dict[str, Any]:
        """Returns alternatives for a requirement without a wheel. The alternatives are wheels for other Python
        versions, and the source distribution. If the required version is no longer available, uses the next later
        version."""
        offer: dict[str, Any] = {"line": line, "wheels": [], "source": None}
        later = [(line.replace("==", ">="), ("--resolution", "lowest"))] if "==" in line else []
        for (wanted, lowest), oldest in itertools.product([(line, ()), *later], (_BEFORE, *reversed(versions))):
            # With `--no-deps`, uv reads only file names and builds nothing.
            options = ("--no-deps", "--universal", "--python-version", oldest, *lowest, *self._dated)
            try:
                package = self._packages([wanted], options, wheels=False)[0]
            except (Failed, IndexError):
                continue
            offer["wheels"] = [wheel["url"].rpartition("/")[2] for wheel in package.get("wheels", ())]
            if file := package.get("sdist"):
                day = str(file.get("upload-time", ""))[:10]
                offer["source"] = {key: package[key] for key in ("name", "version")}
                offer["source"] |= {"url": file["url"], "sha256": _sha256(file), "day": day}
            break
        return offer

    def unpack(self, line: str, folder: Path) -> None:
        """Unpacks a locked wheel into a folder, and checks its hash if the lock contains one. Raises `Failed` if uv
        fails."""
        hashes = ("--require-hashes",) if "--hash" in line else ()
        python = ("--python-version", self._python) if self._python else ()
        self._run("install", "-r", "-", "--target", str(folder), "--no-deps", *python, *hashes, stdin=line)


def _sha256(file: Mapping[str, Any]) -> str:
    return str(file.get("hashes", {}).get("sha256", ""))


def name_of(line: str) -> str:
    return re.split(r"[^\w.-]", line, maxsplit=1)[0]


def _without_wheel(stderr: str) -> list[str]:
    return [f"{every or name}{versions}" for every, name, versions in _WITHOUT_WHEEL.findall(" ".join(stderr.split()))]


def failure_of(stderr: str) -> Failed:
    """Shortens uv's error output to a single reason."""
    text = " ".join(stderr.split())
    lower = text.lower()
    if "was not found in the package registry" in lower:
        name = re.search(r"Because (\S+) was not found in the package registry", text)
        return Failed(f"no package {name[1]} in the registry" if name else "no such package in the registry")
    if "no wheels" in lower or "no usable wheels" in lower or "only-binary" in lower:
        return Failed("no wheel for this Python")
    if any(word in lower for word in _UNREACHABLE) or re.search(r"\b(408|425|429|5\d\d) [a-z]", lower):
        return Unreachable("the package registry cannot be reached")
    cause = re.sub(r"^error: (No solution found when resolving dependencies )?(cause: )?", "", text)
    return Failed(cause[:240] or "uv failed without a message")
