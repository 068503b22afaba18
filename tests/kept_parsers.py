"""Keeps parser processes alive between tests, because every build needs one and starting one takes half a second."""

import contextlib
import os
import weakref
from collections import defaultdict
from collections.abc import Hashable, Sequence

from xkg.sandbox.isolation.confined_worker import _Template

_idle: defaultdict[Hashable, list[_Template]] = defaultdict(list)
_MOST_IDLE = 2


class KeptTemplate:
    """Lends a process that was returned earlier, or starts one. Processes with the tests' own tasks are not reused."""

    def __init__(self, modules: Sequence[str]) -> None:
        idle = _idle[os.getpid(), *modules]
        template = _taken(idle) or _Template(modules)
        self.fork = template.fork
        self.end = weakref.finalize(self, _give_back, template, idle, all(name.startswith("xkg.") for name in modules))


def _taken(idle: list[_Template]) -> _Template | None:
    """Takes a running process. Threads may call this at the same time."""
    with contextlib.suppress(IndexError):
        while (template := idle.pop())._process.poll() is not None:
            pass
        return template
    return None


def _give_back(template: _Template, idle: list[_Template], kept: bool) -> None:
    if kept and len(idle) < _MOST_IDLE:
        idle.append(template)
    else:
        template.end()
