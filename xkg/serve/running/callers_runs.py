"""Runs scripts for a server's callers, with permission checks and limits on runs per day, time and concurrency.

Missing packages are installed in the background. If that takes too long, the caller is asked to retry."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from xkg.config import Settings
from xkg.errors import ConfigError, InputError, PackagesError
from xkg.model import Code
from xkg.sandbox.packages.plan import Installing
from xkg.sandbox.runner import Environment
from xkg.serve.jobs.authority import Caller, require
from xkg.serve.jobs.jobs import FOLDER
from xkg.serve.jobs.table import JobTable
from xkg.serve.running.answer import RunAnswer
from xkg.serve.running.runs import Runs
from xkg.serve.service import Service

INSTALLING_SECONDS = 30.0
"""How long a call waits for packages to be installed. Most clients time out after a minute."""
MOST_INSTALLING = 4
TURN_SECONDS = 15.0
DEFAULT_SECONDS = 30.0


@dataclass
class _Installation:
    """An installation in progress. `at` describes the progress."""

    made: "Future[Environment]"
    at: str = "its packages are being looked up"


class CallersRuns:
    """Runs scripts for a server's callers. Thread-safe.

    Raises `ConfigError` if no sandbox is configured. Methods raise `NotAllowedError` if the caller lacks the scope, and
    the same errors as `Runs`."""

    def __init__(self, service: Service, settings: Settings) -> None:
        if settings.sandbox.runner == "unsafe-subprocess":
            raise ConfigError("clients' scripts are untrusted: sandbox.runner must not be unsafe-subprocess")
        self.bounds = settings.serve.run
        self._runs = Runs(service, settings)
        self._table = JobTable(settings.kg / FOLDER)
        self._places = threading.BoundedSemaphore(self.bounds.at_once)
        self._turn = threading.Lock()
        self._callers: dict[str, threading.Lock] = {}
        self._installing: dict[str, _Installation] = {}

    def example(self, reference: str, caller: Caller) -> str:
        """Returns an example script for this code."""
        require(caller, "ask", ["run"])
        return self._runs.example(reference)

    def run(self, reference: str, script: str, caller: Caller, seconds: float | None = None) -> RunAnswer:
        """Runs the script and returns the result. Also raises `InputError` if the caller has reached the daily limit or
        already has a run in progress, or if all slots are taken. Raises `PackagesError` if packages are still being
        installed."""
        require(caller, "ask", ["run"])
        most = self.bounds.seconds
        if seconds is not None and seconds > most:
            raise InputError(f"{seconds:g} seconds is more than this server allows per run; use at most {most:g}")
        code, _ = self._runs.code(reference)
        with self._only_one(caller):
            self._require_packages(code)
            if not self._places.acquire(timeout=TURN_SECONDS):
                raise InputError("all slots are taken by other callers' runs; try again in a minute")
            try:
                self._table.count_run(caller.name, self.bounds.per_day)
                chosen = min(DEFAULT_SECONDS, most) if seconds is None else seconds
                return self._runs.run(reference, script, seconds=chosen)
            finally:
                self._places.release()

    def _require_packages(self, code: Code) -> None:
        with self._turn:
            under_way = self._installing.get(code.id)
            if under_way is None:
                if len(self._installing) >= MOST_INSTALLING:
                    raise InputError("packages for other code are being installed; try again in a minute")
                under_way = self._installing[code.id] = _Installation(Future())
                # This is a daemon thread, so that shutdown does not wait for it.
                threading.Thread(target=self._install, args=(code, under_way), name="install", daemon=True).start()
        try:
            under_way.made.result(INSTALLING_SECONDS)
        except TimeoutError:
            if under_way.made.done():
                raise
            raise PackagesError(f"{under_way.at}; try again in a minute") from None

    def _install(self, code: Code, under_way: "_Installation") -> None:
        def notify(at: Installing) -> None:
            under_way.at = str(at)

        try:
            under_way.made.set_result(self._runs.environment(code, notify))
        except BaseException as error:
            under_way.made.set_exception(error)
        finally:
            with self._turn:
                del self._installing[code.id]

    @contextmanager
    def _only_one(self, caller: Caller) -> Iterator[None]:
        with self._turn:
            own = self._callers.setdefault(caller.name, threading.Lock())
        if not own.acquire(timeout=TURN_SECONDS):
            raise InputError("another of your runs is in progress; try again when it has finished")
        try:
            yield
        finally:
            own.release()
