"""Records the addresses that Python code tries to reach, with the line of code, as JSON lines in the command's
environment folder. Runs in every Python process of a command before the command's code, and uses only the standard
library."""

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_MOST = 40


def asking(tree: str) -> "tuple[str, str]":
    """Returns the line of the command's own code that is running, and the package that it called."""
    own = (tree, sys.base_prefix)
    folders = [os.path.join(each, "") for each in sys.path if each and not each.startswith(own)]  # noqa: PTH118
    library = ""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(tree):
            return f"{name[len(tree) :]}:{frame.f_lineno}", library
        inside = [name[len(folder) :] for folder in folders if name.startswith(folder)]
        if inside:
            library = inside[0].partition(os.sep)[0].partition(".")[0]
        frame = frame.f_back
    return "", library


def record(place: str, tree: str) -> None:
    seen: set[str] = set()

    def note(event: str, arguments: "Any") -> None:
        if event == "urllib.Request":
            found = [str(arguments[0])[:500], ""]
        elif event == "socket.getaddrinfo":
            found = [str(arguments[0])[:300], str(arguments[1])[:10]]
        elif event == "socket.connect" and isinstance(arguments[1], tuple):
            found = [str(arguments[1][0])[:300], str(arguments[1][1])]
        else:
            return
        if len(seen) >= _MOST:
            return
        line = json.dumps([*found, *asking(tree)])
        if line not in seen:
            seen.add(line)
            try:
                with open(place, "a", encoding="utf-8") as file:  # noqa: PTH123
                    file.write(line + "\n")
            except OSError:
                pass

    if hasattr(sys, "addaudithook"):  # requires Python 3.8
        sys.addaudithook(note)


record(os.path.join(sys.prefix, "reached"), os.path.join(os.path.dirname(sys.prefix), "work", ""))  # noqa: PTH118, PTH120
