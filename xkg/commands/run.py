"""Implements `xkg run`, which runs a script on code from the graph."""

import contextlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from xkg.commands.graph.open import open_service
from xkg.config import Settings
from xkg.errors import InputError
from xkg.files import read_regular
from xkg.sandbox.packages.plan import Installing
from xkg.serve.running.answer import RunAnswer, RunFile
from xkg.serve.running.runs import Runs

_LARGEST_SCRIPT = 1 << 20


def run(
    settings: Settings,
    code: str,
    script: str,
    *,
    file_name: str,
    seconds: float | None,
    notify: Callable[[Installing], None],
) -> RunAnswer:
    """Runs a script on the code and returns the result. Raises the same errors as `Runs.run`."""
    with open_service(settings) as service:
        return Runs(service, settings).run(code, script, file_name=file_name, seconds=seconds, notify=notify)


def example(settings: Settings, code: str) -> str:
    """Returns an example script for the code. Raises the same errors as `Runs.code`."""
    with open_service(settings) as service:
        return Runs(service, settings).example(code)


def read_script(place: str) -> tuple[str, str]:
    """Reads a script from a file, or from stdin if `place` is `-`. Returns the script's text and its name in
    tracebacks. Raises `InputError` if the script cannot be read."""
    try:
        content = sys.stdin.buffer.read(_LARGEST_SCRIPT) if place == "-" else read_regular(Path(place), _LARGEST_SCRIPT)
        return content.decode(), "<stdin>" if place == "-" else Path(place).name
    except OSError as error:
        raise InputError(f"{place} cannot be read ({error.strerror}); pass a Python file, or - for stdin") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{place} is not UTF-8 text; pass a Python file") from error


def store(files: tuple[RunFile, ...], folder: Path) -> tuple[list[str], list[str]]:
    """Writes files under a folder, which is created if missing, without replacing existing files or following links.
    Returns the names of the written files, and the reasons why others were not written."""
    written, refused = [], []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}); choose another --out") from error
    try:
        for file in files:
            try:
                _write(top, PurePosixPath(file.name), file.content)
                written.append(file.name)
            except FileExistsError:
                refused.append(f"{file.name}: already exists; choose another --out, or remove it")
            except OSError as error:
                refused.append(f"{file.name}: {error.strerror}")
    finally:
        os.close(top)
    return written, refused


def _write(top: int, path: PurePosixPath, content: bytes) -> None:
    """Creates a new file under the folder `top`. Never follows links."""
    at = os.dup(top)
    try:
        for part in path.parts[:-1]:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=at)
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        mode = stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH
        descriptor = os.open(path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=at)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    finally:
        os.close(at)
