# ruff: noqa: PTH110, PTH118, PTH123
"""Runs at the start of every Python process in a command, and records which awaited lines run. Watching stops once one
line in each group has run, so that the process then continues at full speed.

The first counter is nonzero if the result is unknown, either because no process has started watching yet, or because a
process gave up after too many interpreter steps."""

import dis
import json
import os
import sys
from typing import Any

_MOST_LINES, _MOST_CALLS = 1_000_000, 15_000_000
_LOOKS, _GAVE_UP = 0, 2


def await_lines(request: "dict[str, Any]") -> None:  # quoted, for Python 3.8 and earlier
    """Watches the lines in `request`. `groups` maps each file to lists of lines. The file `counts` contains an 8-byte
    counter for each line; `first` maps each source file to the offset of its counters."""
    import mmap
    import threading

    with open(request["counts"], "r+b") as file:
        counts = memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")
    if counts[0] != _GAVE_UP:  # another process may have given up
        counts[0] = _LOOKS
    waiting = {path: [set(lines) for lines in groups] for path, groups in request["groups"].items()}
    files: dict[str, str] = {}
    within: dict[Any, bool] = {}
    left = {"lines": _MOST_LINES, "calls": _MOST_CALLS}

    def stop() -> None:
        threading.settrace(None)
        sys.settrace(None)

    def give_up() -> None:
        counts[0] = _GAVE_UP
        waiting.clear()
        stop()

    def enter(frame: Any, event: str, argument: Any) -> Any:  # noqa: ARG001
        if not waiting:
            sys.settrace(None)
            return None
        left["calls"] -= 1
        if left["calls"] < 0:
            give_up()
            return None
        code = frame.f_code
        holds = within.get(code)
        if holds is None:
            path = files.get(code.co_filename)
            if path is None:
                path = files[code.co_filename] = os.path.realpath(code.co_filename)
            awaited = {line for group in waiting.get(path, ()) for line in group}
            holds = within[code] = bool(awaited) and any(line in awaited for _, line in dis.findlinestarts(code))
        return each_line if holds else None

    def each_line(frame: Any, event: str, argument: Any) -> Any:  # noqa: ARG001
        if not waiting:
            return None
        if event != "line":
            return each_line
        path = files.get(frame.f_code.co_filename, "")
        left["lines"] -= 1
        if left["lines"] < 0:
            give_up()
            return None
        groups = waiting.get(path, [])
        for group in [group for group in groups if frame.f_lineno in group]:
            counts[request["first"][path] + frame.f_lineno] = 1
            groups.remove(group)
        if path in waiting and not groups:
            del waiting[path]
        if not waiting:
            stop()
            return None
        return each_line

    threading.settrace(enter)
    sys.settrace(enter)


_request = os.path.join(sys.prefix, "trace.json")
if os.path.exists(_request):
    with open(_request) as _file:
        await_lines(json.load(_file))
