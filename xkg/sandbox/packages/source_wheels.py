"""Provides wheels for packages that are available only as source. Each wheel is built once per interpreter and
stored."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

from xkg.files import file_lock
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.interpreters import Interpreter
from xkg.sandbox.packages.disk_quota import Quota
from xkg.sandbox.packages.distributions import distribution_of
from xkg.sandbox.packages.installer_runs import InstallerRuns
from xkg.sandbox.packages.plan import Fetched, Installing, Source
from xkg.sandbox.packages.python_choice import first_day
from xkg.sandbox.packages.source_builds import (
    FailedBuild,
    build,
    folder_of,
    numpy_of,
    store_failure,
    stored,
    stored_failure,
)
from xkg.sandbox.runner import Environment

_MOST_ADDED = 3
_MOST_MB = 200
_LAST_2TO3 = "2021-09-01"
"""A day shortly before the release of setuptools 58, which removed 2to3."""
# A package that setuptools needs for builds but old projects do not declare.
_BESIDE = "wheel"

Tools = Callable[[Sequence[str], str, Interpreter], Environment]
"""Creates an environment from requirement lines, as of a given day, for an interpreter."""


class SourceWheels:
    """Builds and stores wheels. `tools` creates the environment for a build. Builds run only in bubblewrap."""

    def __init__(self, runs: InstallerRuns, tools: Tools, notify: Callable[[Installing], None]) -> None:
        self._runs, self._tools, self._notify = runs, tools, notify

    def folder(self, source: Source, pins: Sequence[str], interpreter: Interpreter, limits: Quota) -> str:
        """Returns the name of the folder in `InstallerRuns.built` that contains the wheel for a source distribution.
        Builds the wheel for use with the packages in `pins` if the wheel does not exist yet. Raises `FailedBuild`."""
        name = folder_of(source, interpreter)
        target = self._runs.built / name
        if stored(target):
            return name
        if (reason := stored_failure(target)) is not None:
            raise FailedBuild(reason)
        if not isinstance(self._runs.sandbox, BubblewrapRunner):
            raise FailedBuild("sources are built only in bubblewrap", passing=True)
        self._notify(Installing(packages=f"{source.name} {source.version}", total_mb=0, disk_mb=0, from_source=True))
        target.mkdir(parents=True, exist_ok=True)
        with file_lock(target / ".lock"):
            if stored(target):  # another process has built the wheel in the meantime
                return name
            try:
                self._make(source, pins, interpreter, limits, target)
            except FailedBuild as error:
                if not error.passing:
                    store_failure(target, str(error))
                raise
        return name

    def _make(self, source: Source, pins: Sequence[str], interpreter: Interpreter, limits: Quota, target: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="xkg-source-") as kept:
            file, stated = self._fetched(source, interpreter, limits, Path(kept))
            # Later versions of setuptools removed features that older projects use, such as conversion from Python 2.
            days = sorted({max(source.day, first_day(interpreter.minor)), max(source.day, _LAST_2TO3)}, reverse=True)
            failure = FailedBuild("it was not tried")
            for day in days:
                requires = numpy_of(stated, pins)
                requires += [_BESIDE] if _BESIDE not in stated and any("setuptools" in line for line in stated) else []
                for _ in range(_MOST_ADDED + 1):
                    tools = self._tools(requires, day, interpreter)
                    if tools.incomplete:
                        raise FailedBuild("its build tools could not be fetched", passing=True)
                    try:
                        build(source, file, tools.site, interpreter, target)
                        return
                    except FailedBuild as error:
                        failure = error
                        added = numpy_of([distribution_of(error.lacks) or error.lacks], pins) if error.lacks else []
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
