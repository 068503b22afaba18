"""Runs a command over a copy of the folder that it is started in; inside the sandbox, with the standard library alone.

The request is a JSON object on stdin. The command's output is this program's stdout; the report, one JSON object, is
its stderr, which no other process inside gets. `python` is the interpreter in a virtual environment with the folder of
packages on its module path. With `traced` files every Python process counts how often it runs each of their lines, in
one file that all of them map, so that the counts of a process that was killed are there too; where two processes run
the same line at the same moment, one of the two may not count. With `watched` functions, or groups of `awaited` lines,
a program given as `watcher` runs in their place, and leaves its findings.
"""

import base64
import contextlib
import ctypes
import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

_NOT_DUMPABLE = (4, 0)  # PR_SET_DUMPABLE
_FILE_BYTES, _ALL_BYTES = 4 << 20, 8 << 20
_MOST_REMOVED = 20

# Runs in every Python process of the command, before its first line.
_TRACER = """\
import json, os, sys

def _trace(request):
    import mmap, threading
    with open(request) as file:
        request = json.load(file)
    with open(request["counts"], "r+b") as file:
        counts = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
    first = request["first"]
    known = {}

    def enter(frame, event, argument):
        name = frame.f_code.co_filename
        at = known.get(name)
        if at is None:
            at = known[name] = first.get(os.path.realpath(name), -1)
        if at < 0:
            return None

        def each_line(frame, event, argument):
            if event == "line":
                counts[at + frame.f_lineno] += 1
            return each_line

        return each_line

    threading.settrace(enter)
    sys.settrace(enter)

_request = os.path.join(sys.prefix, "trace.json")
if os.path.exists(_request):
    _trace(_request)
"""


def main() -> None:
    request = json.load(sys.stdin)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(*_NOT_DUMPABLE)
    home = Path(os.environ["HOME"])
    tree = home / "work"
    report: dict[str, Any] = {"ended": "exited", "exit_code": None, "files": {}, "lines": None, "home": str(home)}
    try:
        shutil.copytree(Path.cwd(), tree)
        for name, place in request["data"].items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).symlink_to(place)
        python = environment(home / ".python", request)
        first, size = offsets(request["traced"], tree)
        counts = home / ".python" / "counts"
        if request["traced"]:
            counts.write_bytes(bytes(8 * size))
            placed = {"counts": str(counts), "first": {str(tree / name): at for name, at in first.items()}}
            (home / ".python" / "trace.json").write_text(json.dumps(placed))
        last_awaited = {path: max(map(max, of)) for path, of in request.get("awaited", {}).items()}
        if last_awaited:
            first, size = offsets(last_awaited, tree)
            counts.write_bytes(bytes(8 * size))
            groups = {os.path.realpath(tree / path): of for path, of in request["awaited"].items()}
            awaited = {"counts": str(counts), "groups": groups}
            awaited["first"] = {os.path.realpath(tree / name): at for name, at in first.items()}
            (home / ".python" / "trace.json").write_text(json.dumps(awaited))
        findings = home / ".python" / "findings"
        if request.get("watched"):
            functions = {str((tree / name).resolve()): names for name, names in request["watched"].items()}
            asked = {"functions": functions, "findings": str(findings)}
            (home / ".python" / "trace.json").write_text(json.dumps(asked))
        variables = {**os.environ, **request["variables"], "PATH": f"{python}:/usr/bin:/bin", "PWD": str(tree)}
        command = request["command"]
        report |= run(command, tree, variables, request["seconds"])
        if request["traced"]:
            report["lines"] = executed(counts, first, request["traced"])
        if last_awaited:
            report["lines"] = executed(counts, first, last_awaited)
            report["gave_up"] = bool(any(counts.read_bytes()[:8]))
        if request.get("watched") and findings.exists():
            report["findings"] = findings.read_bytes()[:_FILE_BYTES].decode("utf-8", "replace")
        report["files"] = collected(tree, request["wanted"])
        report["removed"] = removed(Path.cwd(), tree)
    except OSError as error:
        report["error"] = f"{error.strerror or error} ({error.filename})"
    sys.stderr.write(json.dumps(report))


def environment(folder: Path, request: dict[str, Any]) -> Path:
    """A virtual environment of its own; returns the folder of its programs."""
    for name, content in request["python"].items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        watcher = request.get("watcher") or _TRACER
        place.write_text(watcher if name.endswith("/sitecustomize.py") else content)
    programs = folder / "bin"
    programs.mkdir()
    for name in ("python", "python3"):
        (programs / name).symlink_to(request["interpreter"])
    return programs


def offsets(traced: dict[str, int], tree: Path) -> tuple[dict[str, int], int]:
    """The place of each file's line 0 among the counters, and the number of counters."""
    first, size = {}, 1
    for name, lines in traced.items():
        first[os.path.relpath(os.path.realpath(tree / name), tree)] = size
        size += lines + 1
    return first, size


def run(command: list[str], tree: Path, variables: dict[str, str], seconds: float) -> dict[str, Any]:
    try:
        process = subprocess.Popen(
            command,
            cwd=tree,
            env=variables,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError:
        return {"exit_code": 127, "error": f"there is no program {command[0]}"}
    try:
        code = process.wait(seconds)
        ended = {"ended": "exited", "exit_code": 128 - code if code < 0 else code}
    except subprocess.TimeoutExpired:
        ended = {"ended": "timeout", "exit_code": None}
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return ended


def executed(counts: Path, first: dict[str, int], traced: dict[str, int]) -> dict[str, dict[str, int]]:
    """By file and line how often it ran, of those that did."""
    lines: dict[str, dict[str, int]] = {}
    with counts.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        numbers = memoryview(mapped).cast("Q")
        for name, at in first.items():
            lines[name] = {str(line): numbers[at + line] for line in range(1, traced[name] + 1) if numbers[at + line]}
        numbers.release()
    return lines


def removed(original: Path, tree: Path) -> list[str]:
    """Files of the original folder that the command removed from its copy, at most 20."""
    found: list[str] = []
    for folder, _, names in os.walk(original):
        for name in names:
            path = os.path.relpath(Path(folder) / name, original)
            if not os.path.lexists(tree / path):
                found.append(path)
                if len(found) == _MOST_REMOVED:
                    return found
    return found


def collected(tree: Path, wanted: list[str]) -> dict[str, str]:
    """The bytes of the files that the command was to leave, in base64; what is no regular file inside is left out."""
    files: dict[str, str] = {}
    size = 0
    for name in wanted:
        place = tree / name
        with contextlib.suppress(OSError):
            if place.resolve().is_relative_to(tree.resolve()) and place.is_file():
                descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                with os.fdopen(descriptor, "rb") as file:
                    content = file.read(_FILE_BYTES + 1)
                size += len(content)
                if len(content) <= _FILE_BYTES and size <= _ALL_BYTES:
                    files[name] = base64.b64encode(content).decode()
    return files


if __name__ == "__main__":
    main()
