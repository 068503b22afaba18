"""Runs items on a single machine. Each process runs one item at a time. If a process dies, only its item fails."""

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

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

ITEMS_OF_A_PROCESS = 50
"""A process is replaced after this many items, because it does not return memory to the system."""
_END_SECONDS = 20
_STARTING = threading.Lock()


class LocalEngine:
    """Runs up to `jobs` items in parallel."""

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs

    def workers(self, work: Work[Item, Result], count: int) -> "Sequence[LocalWorker[Item, Result]]":
        return [LocalWorker(work) for _ in range(count)]


class LocalWorker(Generic[Item, Result]):
    """Runs items in a worker process, which starts with the first item. The process is replaced if it dies or has run
    many items."""

    def __init__(self, work: Work[Item, Result]) -> None:
        self._work = work
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def run(self, item: Item, notify: Callable[[object], None]) -> Result:
        """See `Worker.run`."""
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
            code = self._leave()
            how = f"signal {-code}, perhaps out of memory" if code is not None and code < 0 else f"code {code}"
            raise WorkFailed(f"the worker process ended ({how}); run again to continue") from error

    def stop(self) -> None:
        if (process := self._process) is not None and process.is_alive():
            process.terminate()

    def close(self) -> None:
        self._leave()

    def _started(self) -> Connection:
        if self._pipe is not None:
            return self._pipe
        started = _context(self._work.imports)
        self._pipe, other = started.Pipe()
        # A fork server keeps its initial environment, so the current environment is sent through a pipe.
        self._process = started.Process(target=_work, args=(self._work, other, dict(os.environ)), name="xkg build")
        with _without_main():
            self._process.start()
        other.close()
        return self._pipe

    def _leave(self) -> int | None:
        if self._process is None or self._pipe is None:
            return None
        self._pipe.close()
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        code, self._process, self._pipe = self._process.exitcode, None, None
        return code


def _context(imports: tuple[str, ...]) -> Any:
    """Returns the multiprocessing context. Processes are forked from a server that has imported these modules and has
    one thread and no open files. On systems without fork, processes are started from scratch."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(imports))
    return context


@contextmanager
def _without_main() -> Iterator[None]:
    """Prevents multiprocessing from running the main program again in each process. Otherwise every script would need
    an `if __name__ == "__main__"`."""
    main = sys.modules["__main__"]
    with _STARTING:
        before = main.__spec__
        main.__spec__ = ModuleSpec("__main__", None)  # multiprocessing does not re-import a package's `__main__`
        try:
            yield
        finally:
            main.__spec__ = before


def _work(work: Work[Any, Any], pipe: Connection, environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles the interrupt and ends this process
    signal.signal(signal.SIGTERM, _stop)
    opened = Opened(work, Site(lambda event: pipe.send(("event", event))))
    try:
        for left in reversed(range(ITEMS_OF_A_PROCESS)):
            pipe.send(("result" if left else "last", opened.do(pipe.recv())))
    except (EOFError, OSError, SystemExit):
        return  # the parent has finished or died
    finally:
        opened.close()


def _stop(_number: int, _frame: object) -> None:
    raise SystemExit(0)
