"""Runs a caller's script against a node's code. Runs inside the sandbox and uses only the standard library.

Next to this file, `request.json` contains the script and the limits, and `code/implementation.py` contains the code.
The script runs in a fork, as `__main__`, in an empty working folder. The script's namespace starts with the names from
the implementation. As in a notebook, the value of the last expression is printed, and open matplotlib figures are saved
at the end.

The script's output becomes this program's output. The last line of the output is a report. This JSON object states how
the script ended and lists the files in its working folder. The parent process trusts neither the output nor the report.

Supports Python 3.7 and later."""

from __future__ import annotations

import ast
import base64
import contextlib
import importlib
import json
import linecache
import os
import signal
import stat
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

# The sandbox has no network, so these libraries should fail at once instead of retrying for minutes.
_OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
_LOOK_SECONDS = 0.01
_NAMED = 20
_FIGURES = 20
_MOST_ENTRIES = 10_000


def main() -> None:
    home = Path.cwd()
    request = json.loads((home / "request.json").read_text())
    (home / "request.json").unlink()
    (home / "work").mkdir()
    (home / "fonts.conf").write_text("<fontconfig/>")  # matplotlib would warn that there are no system fonts
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(home / "work")
        sys.exit(execute(request, home / "code"))
    report = ended(child, request["seconds"])
    report.update(collected(home / "work", request))
    sys.stdout.write("\n" + json.dumps(report))


def execute(request: dict[str, Any], code: Path) -> int:
    """Runs the script and returns its exit status. Errors are printed as in Python, but without this file's frames."""
    name, source = request["name"], request["script"]
    os.environ.update(_OFFLINE, FONTCONFIG_FILE=str(code.parent / "fonts.conf"))
    warnings.filterwarnings("ignore", message=".*is non-interactive", category=UserWarning)  # caused by `plt.show()`
    sys.path[0] = str(code)
    sys.argv = [name]
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    no_gpu = code.parent / "no_gpu.py"
    if no_gpu.exists():
        exec(compile(no_gpu.read_text(), "no_gpu.py", "exec", dont_inherit=True), {"__name__": "no_gpu"})
    status = 0
    try:
        module = importlib.import_module("implementation")
        script = ModuleType("__main__")
        own = {key: value for key, value in vars(module).items() if not key.startswith("__")}
        script.__dict__.update({"implementation": module, **own, "__file__": name})
        sys.modules["__main__"] = script
        evaluate(source, name, script.__dict__)
    except SystemExit as ended:
        status = exit_status(ended)
    except BaseException as error:
        sys.stderr.write(described(error, name, code))
        status = 1
    save_figures()
    return status


def evaluate(source: str, name: str, namespace: dict[str, Any]) -> None:
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), namespace)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), namespace)
        if value is not None:
            print(repr(value))


def exit_status(ended: SystemExit) -> int:
    if ended.code is None or isinstance(ended.code, int):
        return (ended.code or 0) & 0xFF
    sys.stderr.write(f"{ended.code}\n")
    return 1


def described(error: BaseException, name: str, code: Path) -> str:
    """Returns the traceback, starting at the first line in the script or the code."""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == name or file.startswith(str(code)):
            break
        trace = trace.tb_next
    lines = traceback.TracebackException(type(error), error, trace).format()
    return "".join(lines).replace(f"{code}/", "")


def save_figures() -> None:
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    try:
        for number in pyplot.get_fignums()[:_FIGURES]:
            if not os.path.lexists(f"figure-{number}.png"):
                pyplot.figure(number).savefig(f"figure-{number}.png")
    except Exception as error:
        sys.stderr.write(f"cannot save a figure: {error}\n")


def ended(child: int, seconds: float) -> dict[str, Any]:
    """Waits until the child exits or runs out of time, and kills the child's whole session. Returns how it ended."""
    until = time.monotonic() + seconds
    process = status = 0
    while not process and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        process, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    if not process:
        return {"ended": "timeout", "exit_code": None}
    return {"ended": "exited", "exit_code": -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)}


def collected(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the regular files below the folder, figures first, up to the limits on number and size. Lists skipped
    files with the reason."""
    files: list[dict[str, str]] = []
    others: list[dict[str, Any]] = []
    size = 0
    found = sorted(entries(folder), key=lambda path: (not path.name.startswith("figure-"), str(path)))
    for path in found[:_MOST_ENTRIES]:
        why, content = "", b""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    why = "it is not a regular file"
                elif len(files) == request["most_files"]:
                    why = f"only {len(files)} files are returned"
                elif status.st_size > request["file_bytes"] or size + status.st_size > request["all_bytes"]:
                    why = f"it has {status.st_size:,} bytes"
                else:
                    content = file.read(request["file_bytes"])
        except OSError:
            why = "it is a link, or cannot be read"
        name = os.path.relpath(path, folder)
        if why:
            others.append({"name": name, "why": why})
        else:
            size += len(content)
            files.append({"name": name, "content": base64.b64encode(content).decode()})
    more = len(others) - _NAMED + max(0, len(found) - _MOST_ENTRIES)
    return {"files": files, "others": others[:_NAMED], "more": max(0, more)}


def entries(folder: Path) -> Iterator[Path]:
    """Yields all files below the folder, up to the maximum number of entries."""
    waiting, seen = [folder], 0
    while waiting and seen <= _MOST_ENTRIES:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as listed:
            for entry in listed:
                seen += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                else:
                    yield Path(entry.path)
                if seen > _MOST_ENTRIES:
                    break


if __name__ == "__main__":
    main()
