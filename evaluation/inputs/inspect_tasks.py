"""Helps Inspect tasks check parameters, cut papers to fit, start a graph's tools and read logs."""

import inspect
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, get_type_hints

from inspect_ai import Task
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.tool import ToolSource, mcp_server_stdio
from pydantic import TypeAdapter, ValidationError

from evaluation.inputs.rows import first_error
from xkg.errors import InputError, XkgError

P = ParamSpec("P")
_CHARACTERS_A_TOKEN = 4
_SECTION = re.compile(r"^(?:#{1,3} |\\section\b)", re.MULTILINE)


def given_path(text: str) -> Path:
    """Returns the absolute path for `text`, which may be relative to the shell's working folder. `inspect eval` changes
    to the folder of the task's file, and only PWD still contains the original folder."""
    path = Path(text).expanduser()
    if path.is_absolute() or path.exists():
        return path.absolute()
    typed = Path(os.environ.get("PWD", ".")) / path
    return typed if typed.exists() else path.absolute()


def checked(make: Callable[P, Task]) -> Callable[P, Task]:
    """A decorator for task functions, to be placed below `@task`. Checks parameters against their types, turns a
    `ValueError` into an `InputError`, and makes Inspect print one line for an `XkgError` instead of a traceback."""
    hints = get_type_hints(make)
    signature = inspect.signature(make)

    @wraps(make)
    def make_checked(*args: P.args, **kwargs: P.kwargs) -> Task:
        try:
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                _check(name, value, hints[name])
            return make(*args, **kwargs)
        except XkgError:
            _end_in_one_line()
            raise
        except (TypeError, ValueError, OSError) as error:
            _end_in_one_line()
            raise InputError(f"{make.__name__}: {error}; pass parameters as -T NAME=VALUE") from error

    return make_checked


def _check(name: str, value: object, kind: Any) -> None:
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        raise InputError(f"-T {name}={value}: {first_error(error)}") from error


def _end_in_one_line() -> None:
    """Makes the interpreter print one line for an uncaught `XkgError`."""
    before = sys.excepthook

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, XkgError):
            print(error, file=sys.stderr)
        else:
            before(kind, error, trace)

    sys.excepthook = report


def cut_paper(text: str, most_tokens: int) -> tuple[str, str]:
    """Returns as many of a paper's leading sections as fit, and a line about omitted sections ('' if there are
    none)."""
    room = most_tokens * _CHARACTERS_A_TOKEN
    if len(text) <= room:
        return text, ""
    starts = [match.start() for match in _SECTION.finditer(text) if 0 < match.start() <= room]
    end = starts[-1] if starts else room
    left = _SECTION.findall(text[end:])
    return text[:end], f"[cut to fit: {len(left)} sections, {len(text) - end:,} characters at the end]"


def graph_tools(kg: str, exclude: Path | None = None) -> ToolSource:
    """Returns the tools of a graph's server, which excludes blacklisted papers. The server neither asks a model nor
    opens other folders, because withheld material may be stored next to the benchmark."""
    given = {name: value for name, value in os.environ.items() if name.startswith(("XKG_", "NEO4J_"))}
    given |= {"XKG_SERVE__ROOTS": os.pathsep, "XKG_LLM__MODEL": "none"}  # "" would select the working folder
    return mcp_server_stdio(
        name="xkg",
        command=sys.executable,
        args=["-m", "xkg.commands.serve", "--kg", str(Path(kg).resolve())],
        env=given | ({"XKG_SERVE__EXCLUDE": str(exclude)} if exclude else {}),
    )


def read_log(path: Path, *, header_only: bool = False) -> EvalLog:
    """Reads an Inspect log. Raises `InputError` for any other file."""
    try:
        return read_eval_log(str(path), header_only=header_only)
    except Exception as error:  # the library does not catch exceptions from its dependencies
        raise InputError(f"{path}: is not an Inspect log ({str(error)[:120]}); pass a .eval or .json log") from error
