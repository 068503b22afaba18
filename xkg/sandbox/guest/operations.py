"""Records which arithmetic operations always return one of their operands. A sandboxed Python process imports this
module before its own code; the code being watched calls it instead of its operators."""

from __future__ import annotations

import atexit
import json
import operator
import os

TYPE_CHECKING = False  # importing `typing` takes as long as everything else together
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def recorder(code: str) -> Callable[..., Any]:
    """Runs the operations in the file `code`. When the process ends, it writes a file next to `code` that lists each
    operation whose result was always one of its operands: its number, how often it ran, and which operand (0 or 1). A
    constant operand does not count."""
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
    except Exception:  # types in the watched code may raise any error
        return False
