"""Records which arithmetic operations always return one of their operands. A sandboxed Python process imports this
module before its own code, which is rewritten to call this module's functions instead of using operators."""

from __future__ import annotations

import atexit
import json
import operator
import os

TYPE_CHECKING = False  # importing `typing` takes as long as the rest of this module
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def recorder(code: str) -> Callable[..., Any]:
    """Returns a function that runs and records the operations in the file `code`. When the process exits, the
    operations whose result was always equal to the same operand are written to a file next to `code`. An entry contains
    the operation's number, the number of runs, and the index of the operand (0 or 1). Constant operands are ignored."""
    seen: dict[int, list[Any]] = {}
    process, place = os.getpid(), f"{os.path.abspath(code)}.xkg-operations.json"  # noqa: PTH100

    def operation(number: int, name: str, left: Any, right: Any, *constant: bool) -> Any:
        result = getattr(operator, name)(left, right)
        record = seen.setdefault(number, [0, [not each for each in constant]])
        record[0] += 1
        if any(record[1]):
            record[1] = [so_far and same(result, each) for so_far, each in zip(record[1], (left, right))]  # noqa: B905
        return result

    def write() -> None:
        found = {number: [times, sides.index(True)] for number, (times, sides) in seen.items() if any(sides)}
        if found and process == os.getpid():
            with open(place, "w") as file:  # noqa: PTH123
                json.dump(found, file)

    atexit.register(write)
    return operation


def same(one: Any, other: Any) -> bool:
    try:
        if getattr(one, "shape", None) != getattr(other, "shape", None):
            return False
        equal = one == other
        return bool(equal.all() if hasattr(equal, "all") else equal)
    except Exception:  # types in the recorded code may raise any error
        return False
