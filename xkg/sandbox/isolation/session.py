"""A sandbox that stays open for one long-lived Python process."""

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
    """An open sandbox. `process` is the child process, whose stdout is a pipe. `places` lists the scratch folders'
    paths inside the sandbox, starting with the home folder. `scratch` is the folder outside the sandbox that contains
    the scratch folders, if only the watchdog limits their size. `end` kills all processes and removes their files."""

    process: subprocess.Popen[bytes]
    places: tuple[str, ...]
    scratch: Path | None
    end: Callable[[], object]


class Openable(Runner, Protocol):
    """A runner that can keep its sandbox open."""

    def open(
        self, arguments: tuple[str, ...], files: Mapping[str, str], site: Path | None, limits: Limits, passed: int
    ) -> Opened:
        """Starts `python` with `arguments` as `run` does, but without a time limit. The argument `PLACES` is replaced
        with the scratch folders. The descriptor `passed` stays open under the same number. No process inside can change
        another process's limits or priority. Raises the same errors as `run`."""


def placed(arguments: tuple[str, ...], places: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for argument in arguments for each in (places if argument == PLACES else (argument,)))
