# ruff: noqa: PTH110, PTH118, PTH123
"""Runs at the start of every Python process in a command, and records which lines run. All processes share one
memory-mapped file of counters.

If no lines are awaited, the program counts how often each line runs, and records the files that Python opens. The first
counter then identifies the line that last printed text matching a pattern.

If the request lists groups of awaited lines, the program records only those. Tracing stops once one line in each group
has run, and the process then continues at full speed. The first counter is nonzero if the result is unknown, because no
process has started tracing yet or a process gave up after too many interpreter steps."""

import dis
import json
import os
import sys
from typing import Any

_MOST_LINES, _MOST_CALLS = 1_000_000, 15_000_000
_TRACES, _GAVE_UP = 0, 2


def trace_lines(request: "dict[str, Any]") -> None:  # quoted, for Python 3.8 and earlier
    """Traces the files in `request`. `first` maps each file to the index of its counters in the file `counts`, which
    contains an 8-byte counter for each line. `groups` maps files to lists of awaited lines."""
    import mmap
    import threading

    with open(request["counts"], "r+b") as file:
        counts = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
    known: dict[str, int] = {}

    def index(frame: Any) -> int:
        """Returns the index of the counter for line 0 of the frame's file, or a negative number for other files."""
        name = frame.f_code.co_filename
        if name not in known:
            known[name] = request["first"].get(os.path.realpath(name), -1)
        return known[name]

    def set_trace(function: Any) -> None:
        threading.settrace(function)
        sys.settrace(function)

    if request["groups"]:
        await_lines(request, counts, index, set_trace)
        return

    def enter(frame: Any, event: str, argument: Any) -> Any:  # noqa: ARG001
        at = index(frame)

        def each_line(frame: Any, event: str, argument: Any) -> Any:  # noqa: ARG001
            if event == "line":
                counts[at + frame.f_lineno] += 1
            return each_line

        return None if at < 0 else each_line

    record_opened(request["opened"])
    if request["printed"]:
        record_printed(request["printed"], counts, index)
    set_trace(enter)


def await_lines(request: "dict[str, Any]", counts: Any, index: Any, set_trace: Any) -> None:
    waiting = [
        {request["first"][path] + line for line in lines} for path, of in request["groups"].items() for lines in of
    ]
    awaited = set().union(*waiting)
    within: dict[Any, bool] = {}
    left = {"line": _MOST_LINES, "call": _MOST_CALLS}
    if counts[0] != _GAVE_UP:  # another process may have given up
        counts[0] = _TRACES

    def goes_on(event: str) -> bool:
        if waiting and event in left:
            left[event] -= 1
            if left[event] < 0:
                counts[0] = _GAVE_UP
                waiting.clear()
        if not waiting:
            set_trace(None)
        return bool(waiting)

    def enter(frame: Any, event: str, argument: Any) -> Any:  # noqa: ARG001
        at = index(frame)
        if not goes_on(event) or at < 0:
            return None
        if frame.f_code not in within:
            within[frame.f_code] = any(at + (line or 0) in awaited for _, line in dis.findlinestarts(frame.f_code))
        return each_line if within[frame.f_code] else None

    def each_line(frame: Any, event: str, argument: Any) -> Any:  # noqa: ARG001
        at = index(frame) + frame.f_lineno
        if event == "line" and at in awaited:
            if any(at in group for group in waiting):
                counts[at] = 1
            waiting[:] = [group for group in waiting if at not in group]
        return each_line if goes_on(event) else None

    set_trace(enter)


def record_opened(place: str) -> None:
    opened = os.open(place, os.O_WRONLY | os.O_APPEND)
    noted: set[str] = set()

    def note(event: str, arguments: Any) -> None:
        if event == "open" and isinstance(arguments[0], str) and arguments[0] not in noted and len(noted) < 5000:
            noted.add(arguments[0])
            os.write(opened, os.fsencode(os.path.realpath(arguments[0])) + b"\n")

    if hasattr(sys, "addaudithook"):
        sys.addaudithook(note)
    else:
        os.write(opened, b"*\n")


def record_printed(pattern: str, counts: Any, index: Any) -> None:
    import re

    matches = re.compile(pattern).search

    def watch(stream: Any) -> None:
        write, line, at = stream.write, [""], [0]

        def written(text: str) -> Any:
            lines = (line[0] + str(text)).splitlines(True)
            line[0] = ""
            for each in lines:
                if not matches(each[:4000].rstrip("\r\n")):
                    at[0] = 0
                elif not at[0]:
                    frame: Any = sys._getframe(1)
                    while frame and index(frame) < 0:
                        frame = frame.f_back
                    at[0] = index(frame) + frame.f_lineno if frame else 0
                if not each.endswith("\n"):
                    line[0] = each[:4000]
                elif at[0]:
                    counts[0], at[0] = at[0], 0
            return write(text)

        stream.write = written

    watch(sys.stdout)
    watch(sys.stderr)


_request = os.path.join(sys.prefix, "trace.json")
if os.path.exists(_request):
    with open(_request) as _file:
        trace_lines(json.load(_file))
