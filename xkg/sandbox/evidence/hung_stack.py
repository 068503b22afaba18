"""Finds where a program was when it timed out, using the stack that the harness (`guest.run_test`) prints just before
the timeout."""

import re
from typing import NamedTuple

# `faulthandler` prints "Timeout (0:00:57)!", then the frames of each thread, innermost first.
_DUMP = re.compile(r"^Timeout \(\d[\d:.]*\)!\n(?:(?:Thread 0x|  File |  \.\.\.|  <|\n).*\n?)*+", re.MULTILINE)
_THREAD = re.compile(r"^Thread 0x.*$", re.MULTILINE)
_FRAME = re.compile(r'^  File "([^"\n]*)", line (\d+) in (.*)$', re.MULTILINE)
_OWN = ("implementation.py", "test.py")
_MOST = 4


class Frame(NamedTuple):
    """A line in a file, and the function that contains it."""

    path: str
    line: int
    function: str


def without_stack(output: str) -> str:
    """Removes the harness's stack dump from the output."""
    return _DUMP.sub("", output)


def hung_at(output: str) -> str:
    """Describes in one line where the program hung, innermost frame first: the library frame, if any, then frames in
    the implementation and the test. Returns '' if the output contains no stack with such frames."""
    # Use only the last dump, because earlier output may only look like a dump.
    dumps = [dump[0] for dump in _DUMP.finditer(output)]
    if not dumps:
        return ""
    threads = [[Frame(path, int(line), function) for path, line, function in _FRAME.findall(thread)]
               for thread in _THREAD.split(dumps[-1])]  # fmt: skip
    frames = next((frames for frames in threads if any(_is_own(frame) for frame in frames)), [])
    own = [frame for frame in frames if _is_own(frame)][:_MOST]
    if not own:
        return ""
    outer = [] if _is_own(frames[0]) else [frames[0]]
    return ", called from ".join(map(_described, [*outer, *own]))


def _is_own(frame: Frame) -> bool:
    return frame.path.rpartition("/")[2] in _OWN


def _described(frame: Frame) -> str:
    name = "/".join(frame.path.split("/")[-1 if _is_own(frame) else -2 :])
    place = f"{name}, line {frame.line}"
    return place if frame.function == "<module>" else f"{frame.function} ({place})"
