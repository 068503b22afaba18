"""Processes that build papers, one at a time each; one that dies takes only its paper with it."""

import contextlib
import multiprocessing
import signal
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xkg.commands.batch.paper_list import ListedPaper
from xkg.commands.build import Builder, BuildResult
from xkg.config import Settings
from xkg.errors import InputError, UnreachableError, XkgError
from xkg.text.unicode import one_line

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

# A process gives back no memory that its largest paper took.
_PAPERS_OF_A_PROCESS = 25
_END_SECONDS = 20


class BuildFailed(XkgError):
    """A paper of a batch that could not be built; `lasting` where the same inputs will fail again."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class NoBuilderError(XkgError):
    """No paper of a batch can be built: a key is missing, the graph cannot be written, a setting cannot be used."""


class Worker(AbstractContextManager["Worker"]):
    """Builds papers in a process of its own, which is started for the first one, anew after it died, and anew after
    25."""

    def __init__(self, settings: Settings, blacklist: Path | None, *, first: bool = False) -> None:
        self._settings = settings
        self._blacklist = blacklist
        self._first = first
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._papers = 0

    def __exit__(self, *_: object) -> None:
        self._ended()

    def build(self, listed: ListedPaper, notify: Callable[[object], None]) -> BuildResult:
        """Builds a paper; `notify` receives its stages and calls. Raises `BuildFailed`, and
        `NoBuilderError` where every other paper would fail likewise."""
        pipe = self._started()
        self._papers += 1
        try:
            pipe.send(listed)
            while True:
                received = pipe.recv()
                if isinstance(received, BuildResult):
                    return received
                if isinstance(received, _Failure):
                    if received.of_all:
                        raise NoBuilderError(received.line)
                    raise BuildFailed(received.line, lasting=received.lasting)
                notify(received)
        except (EOFError, OSError) as error:
            code = self._ended()
            how = f"signal {-code}, perhaps for want of memory" if code is not None and code < 0 else f"code {code}"
            raise BuildFailed(f"the process that built it ended ({how}): run again to go on from there") from error

    def stop(self) -> None:
        """Ends what the process is building, from another thread than the one that waits for it."""
        process = self._process
        if process is not None and process.is_alive():
            process.terminate()

    def _started(self) -> Connection:
        if self._pipe is not None and self._papers % _PAPERS_OF_A_PROCESS:
            return self._pipe
        self._ended()
        spawn = multiprocessing.get_context("spawn")
        self._pipe, other = spawn.Pipe()
        self._process = spawn.Process(
            target=_work, args=(self._settings, self._blacklist, self._first, other), name="xkg build"
        )
        self._process.start()
        other.close()
        return self._pipe

    def _ended(self) -> int | None:
        """The exit code of the process, which is over, or ends where nothing more is asked of it."""
        process, pipe, self._process, self._pipe = self._process, self._pipe, None, None
        if process is None or pipe is None:
            return None
        pipe.close()
        process.join(_END_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        return process.exitcode


class _Failure(NamedTuple):
    """Why a paper, or every paper, could not be built, in one line."""

    line: str
    lasting: bool = False
    of_all: bool = False


def _work(settings: Settings, blacklist: Path | None, first: bool, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it, and ends this process
    signal.signal(signal.SIGTERM, _stop)
    builder: Builder | None = None

    def send(value: Any) -> None:
        pipe.send(value)

    try:
        with contextlib.ExitStack() as opened:
            while True:
                listed = pipe.recv()
                try:
                    if builder is None:
                        builder = opened.enter_context(Builder(settings, send, blacklist=blacklist, first=first))
                    send(builder.build(listed.paper, listed.repository, listed.paper_id))
                except XkgError as error:
                    lasting = isinstance(error, InputError) and not isinstance(error, UnreachableError)
                    send(_Failure(str(error), lasting, of_all=builder is None))
                except Exception as error:
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    line = one_line(f"{type(error).__name__}: {error}")[:300]
                    send(_Failure(f"a fault of xkg itself ({line}, {where.name}:{where.lineno})"))
    except (EOFError, OSError, SystemExit):
        return  # the parent is done, or gone


def _stop(_number: int, _frame: object) -> None:
    raise SystemExit(0)
