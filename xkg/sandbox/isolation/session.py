"""A sandbox that stays open around one long-lived Python process."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xkg.sandbox.runner import Limits, Runner

PLACES = "{places}"
LASTING_SECONDS = 86_400.0


@dataclass(frozen=True)
class Opened:
    """`process` is the child process, its stdout a pipe; `places` are the paths of the scratch folders inside, the
    first being home; `scratch` is their folder outside if only the watchdog bounds them. `end` ends all of it and
    removes its files."""

    process: subprocess.Popen[bytes]
    places: tuple[str, ...]
    scratch: Path | None
    end: Callable[[], object]


class Openable(Runner, Protocol):
    """A runner whose sandbox can be kept open."""

    def open(
        self, arguments: tuple[str, ...], files: Mapping[str, str], site: Path | None, limits: Limits, passed: int
    ) -> Opened:
        """Starts `python` with `arguments` (`PLACES` among them stands for the scratch folders) as `run` does, with
        the descriptor `passed` open under its own number, and without a time limit of its own. No process inside can
        change another process's limits or priority. Raises as `run`."""
        ...
