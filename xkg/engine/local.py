"""The engine of one machine: processes that do items, one at a time each; one that dies takes only its item with it."""

import itertools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Generic

from xkg.engine.engine import Failure, Item, Opened, Result, Site, Work, WorkFailed
from xkg.operating_system import largest_memory

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

ITEMS_OF_A_PROCESS = 25
"""After so many items a process ends if it has grown, since it gives back no memory that its largest item took."""
MOST_ITEMS_OF_A_PROCESS = 500
_GROWN = 64_000_000  # bytes since its first item
_END_SECONDS = 20
_STARTING = threading.Lock()


class LocalEngine:
    """Does as many items at a time as there are `jobs`."""

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs

    def workers(self, work: Work[Item, Result], count: int) -> "Sequence[LocalWorker[Item, Result]]":
        return [LocalWorker(work) for _ in range(count)]


class LocalWorker(Generic[Item, Result]):
    """A process, which is started for the first item, anew after it died, and anew when it has grown."""

    def __init__(self, work: Work[Item, Result]) -> None:
        self._work = work
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._leaving: list[BaseProcess] = []

    def run(self, item: Item, notify: Callable[[object], None]) -> Result:
        """As `Worker.run`."""
        pipe = self._started()
        try:
            pipe.send(item)
            while True:
                kind, value = pipe.recv()
                if kind == "event":
                    notify(value)
                    continue
                if kind == "last":
                    self._leave()
                if isinstance(value, Failure):
                    raise value.raised()
                return value  # type: ignore[no-any-return]
        except (EOFError, OSError) as error:
            process = self._leave()
            code = None if process is None else _exit_code(process)
            how = f"signal {-code}, perhaps for want of memory" if code is not None and code < 0 else f"code {code}"
            raise WorkFailed(f"the process that built it ended ({how}): run again to go on from there") from error

    def stop(self) -> None:
        for process in (*self._leaving, self._process):
            if process is not None and process.is_alive():
                process.terminate()

    def close(self) -> None:
        if self._process is not None:
            self._leave()
        for process in self._leaving:
            _exit_code(process)
        self._leaving.clear()

    def _started(self) -> Connection:
        if self._pipe is not None:
            return self._pipe
        started = _context(self._work.imports)
        self._pipe, other = started.Pipe()
        # A fork server has the environment of its own start: a process gets that of now, by a pipe.
        self._process = started.Process(target=_work, args=(self._work, other, dict(os.environ)), name="xkg build")
        with _without_main():
            self._process.start()
        other.close()
        return self._pipe

    def _leave(self) -> "BaseProcess | None":
        """The process, of which nothing more is asked: it ends by itself, beside the next one."""
        process, pipe, self._process, self._pipe = self._process, self._pipe, None, None
        if pipe is not None:
            pipe.close()
        if process is not None:
            self._leaving = [each for each in self._leaving if each.is_alive()] + [process]
        return process


def _exit_code(process: "BaseProcess") -> int | None:
    """The exit code of a process that is over, or about to be."""
    process.join(_END_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode


def _context(imports: tuple[str, ...]) -> Any:
    """How processes are started: as forks of one that has imported these modules, which takes a second once instead of
    for each, and that has one thread and nothing open. Where systems have no such thing, anew."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(imports))
    return context


@contextmanager
def _without_main() -> Iterator[None]:
    """While processes start in it, they do not run the program again that started them, as multiprocessing otherwise
    does: a script would need an `if __name__ == "__main__"`, and nothing of it is needed here."""
    main = sys.modules["__main__"]
    with _STARTING:
        before = main.__spec__
        main.__spec__ = ModuleSpec("__main__", None)  # a package's `__main__` is never imported again
        try:
            yield
        finally:
            main.__spec__ = before


def _work(work: Work[Any, Any], pipe: Connection, environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it, and ends this process
    signal.signal(signal.SIGTERM, _stop)
    opened = Opened(work, Site(lambda event: pipe.send(("event", event))))
    first = 0
    try:
        for count in itertools.count(1):
            result = opened.do(pipe.recv())
            now = largest_memory()
            first = first or now
            grown = count >= ITEMS_OF_A_PROCESS and now - first > _GROWN
            pipe.send(("last" if grown or count >= MOST_ITEMS_OF_A_PROCESS else "result", result))
    except (EOFError, OSError, SystemExit):
        return  # the parent is done, or gone
    finally:
        opened.close()


def _stop(_number: int, _frame: object) -> None:
    raise SystemExit(0)
