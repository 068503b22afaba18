"""Lists the programs that settings can specify, and checks which of them are installed."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from xkg.llm.programs.claude_code import ClaudeCode
from xkg.llm.programs.codex import Codex
from xkg.llm.programs.command import Command
from xkg.llm.programs.gemini import Gemini
from xkg.llm.programs.opencode import OpenCode
from xkg.llm.programs.program import Program

PROGRAMS: Mapping[str, Program] = {each.name: each for each in (ClaudeCode(), Codex(), Gemini(), OpenCode())}

PLAIN_VARIABLES = frozenset(
    "PATH HOME USER LOGNAME LANG LANGUAGE TZ TMPDIR VIRTUAL_ENV LD_LIBRARY_PATH "
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO".split()
)
"""Environment variables without secrets. Variables that begin with `LC_` or `XDG_` are also passed."""
_PLAIN_BEGINNINGS = ("LC_", "XDG_", "NODE_EXTRA_CA_CERTS")
# Windows cannot start a program without these variables.
_WINDOWS = frozenset("SYSTEMROOT PATHEXT COMSPEC APPDATA LOCALAPPDATA USERPROFILE TEMP TMP".split())
_LOGIN_SECONDS = 20.0


def program_of(model: str) -> tuple[Program, str] | None:
    """Returns the program and model that a setting refers to, or None if it refers to a model on a server. An empty
    model means the program's default. Raises `ConfigError` for a command that cannot be split."""
    name, _, rest = model.partition(":")
    if name == Command.name:
        return Command(rest), ""
    program = PROGRAMS.get(name)
    return None if program is None else (program, rest)


def path_of(program: Program) -> str | None:
    """Returns the path of the executable, or None if the program is not installed. Files in the working folder are
    ignored."""
    found = shutil.which(program.executable)
    return found if found is not None and Path(found).is_absolute() else None


def inherited(program: Program) -> dict[str, str]:
    """Returns the environment for the program: its own variables, and variables without secrets."""
    beginnings = (*_PLAIN_BEGINNINGS, *program.inherits)
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper() in PLAIN_VARIABLES | _WINDOWS or name.startswith(beginnings)
    }


def installed() -> Iterator[tuple[Program, str]]:
    """Yields the installed programs and their paths."""
    for program in PROGRAMS.values():
        path = path_of(program)
        if path is not None:
            yield program, path


def is_logged_in(program: Program, path: str) -> bool:
    """Returns whether the user is logged in, according to the program's own command or files. Does not ask a model."""
    variables = inherited(program)
    known = program.logged_in(variables)
    if isinstance(known, bool):
        return known
    try:
        asked = subprocess.run(
            [path, *known], env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LOGIN_SECONDS,
            cwd=Path(path).parent, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


def suggestion() -> str:
    """Returns a hint for users without a key that names the first installed program. Returns '' if no program is
    installed."""
    return next((f"{each.title} is installed; try --llm {each.name}" for each, _ in installed()), "")
