"""Runs the test of a code node over its implementation; inside the box, with the standard library alone.

Beside this file lie `implementation.py` and `test.py`. The test runs as `__main__` in the namespace of the
implementation, which it may also import by that name: tests are written as the end of the same file, under
`if __name__ == "__main__"`, or as a script that imports what it tests. A line on stdout says that the implementation
was imported, another that the test ended well; with the argument `trace` the latter lists the lines that were run.
"""

import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any

IMPORTED = "xkg: import ended"
ENDED = "xkg: test ended"
OVER = "xkg: error ended"


# There is no network here: what these libraries want from it they are to say at once, not after minutes of trying.
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def main() -> None:
    os.environ.update(OFFLINE)
    tracing = sys.argv[1:] == ["trace"]
    sys.argv = ["test.py"]
    module = ModuleType("implementation")
    # Classes are pickled, and their source is found, by the module that this says.
    module.__file__ = str(Path("implementation.py").absolute())
    implementation = compile(read("implementation.py"), module.__file__, "exec", dont_inherit=True)
    sys.modules["implementation"] = sys.modules["__main__"] = module

    lines: set[int] = set()

    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        return each_line if frame.f_code.co_filename == module.__file__ else None

    def each_line(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return each_line

    if tracing:
        threading.settrace(enter)
        sys.settrace(enter)
    exec(implementation, module.__dict__)
    say(IMPORTED)
    test = compile(read("test.py"), str(Path("test.py").absolute()), "exec", dont_inherit=True)
    module.__name__ = "__main__"
    try:
        exec(test, module.__dict__)
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise
    finally:
        sys.settrace(None)
        threading.settrace(None)
    say(ENDED + " " + json.dumps(sorted(lines)))


def read(name: str) -> str:
    return Path(name).read_bytes().decode("utf-8", "surrogatepass")


def say(line: str) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the test may have put anything in its place
            stream.flush()
    os.write(1, f"\n{line}\n".encode())


def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.__excepthook__(kind, error, trace)
    say(OVER)  # what libraries print at the end of the process is no part of it


sys.excepthook = uncaught
keep = sys.modules["__main__"]  # its namespace outlives the change of `__main__`
main()
