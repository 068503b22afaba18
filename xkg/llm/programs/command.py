"""Supports any command that reads a question from stdin and prints the answer."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from xkg.errors import ConfigError
from xkg.llm.endpoint import Reply
from xkg.llm.prices import tokens
from xkg.llm.programs.program import Asked, Program, ProgramError, Ran, Start


class Command(Program):
    name = "command"
    inherits = ()
    log_in = "check what it requires"
    reports_dollars = False
    searches = False

    def __init__(self, line: str) -> None:
        """`line` is split like a shell command. File paths in the command may be relative to the working folder. Raises
        `ConfigError` if `line` is empty or cannot be split."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise ConfigError(
                f"--llm command:{line!r} cannot be split into words ({error}); close its quotes"
            ) from None
        if not words:
            raise ConfigError("--llm command: contains no command; write, for example, command:'python answer.py'")
        # The command runs in another folder, so its paths must be absolute.
        self.executable, *self._arguments = (str(Path(w).absolute()) if Path(w).is_file() else w for w in words)
        self.title = Path(self.executable).name

    def start(self, asked: Asked) -> Start:
        return Start(self._arguments, f"{asked.system}\n\n{asked.prompt_with_schema}")

    def read(self, ran: Ran, asked: Asked) -> Reply:
        if ran.code != 0:
            raise ProgramError(f"exit status {ran.code}: {ran.complaint}")
        return Reply("ok", ran.output, tokens(asked.system + asked.prompt), 0, tokens(ran.output))

    def logged_in(self, _: Mapping[str, str], /) -> Sequence[str] | bool:
        return True
