"""Runs `xkg update` in processes that are killed. Reads event numbers from stdin, one per line, and writes `killed` or
`ended` to stdout.

    python -m tests.killed_update SETTINGS

SETTINGS is JSON. An event is either a progress report of the build or a call that writes or renames a file. After the
event with that number, counted from 1, the process kills itself. The processes are forks of a process that has imported
everything."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.clock import TurnedClock
from xkg.commands.batch.side_by_side import Event
from xkg.commands.update import update
from xkg.config import Settings


def main(settings: str) -> None:
    import xkg.store.local.store  # noqa: F401

    chosen = Settings.model_validate_json(settings)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _update(chosen, int(line))
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else f"ended {os.WEXITSTATUS(status)}", flush=True)


def _update(settings: Settings, left: int) -> None:
    def event(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def then_event(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            answer = call(*given, **named)
            event()
            return answer

        return called

    @contextmanager
    def display(_papers: int) -> Iterator[Callable[[Event], None]]:
        yield event

    for name in ("fsync", "replace", "rename"):
        setattr(os, name, then_event(getattr(os, name)))
    try:
        update(settings, display=display, clock=TurnedClock())
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
