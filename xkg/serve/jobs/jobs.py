"""Builds that callers ask for: one at a time, each in a process of its own, which no end of a server loses sight of.

A build is `xkg build` with the settings of the server, so what harms it (a crash, memory, a library that hangs) does
not harm the server. It leads a process group and holds a lock on its own output for as long as it lives: whoever comes
after a server that died can tell from that whether the build still runs, and goes on watching it. Servers of one graph
take turns, by a lock in its folder.
"""

import contextlib
import fcntl
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from xkg.config import Settings
from xkg.errors import ConfigError, StoreError, UnknownIdError, XkgError
from xkg.files import private_folder
from xkg.serve.jobs.environment import job_environment
from xkg.serve.jobs.table import JobTable, Row, State

log = logging.getLogger(__name__)

FOLDER = "jobs"
MOST_WAITING = 10
LONGEST_SECONDS = 12 * 3600.0
GRACE_SECONDS = 5.0
LAST_GRACE_SECONDS = 0.5
"""The server's own end does not wait long (`xkg.serve.http.run`)."""

_TICK_SECONDS = 0.25
_PAUSE_SECONDS = 10.0
_LARGEST_LOG = 4_000_000
_NICE = 10
_FIRST_TO_GO = "500"
"""Where memory ends, the kernel ends a build before a server (`oom_score_adj`, proc(5))."""

# -P: nothing is imported from the folder that the server was started in, which may be a stranger's repository.
_START = "import sys; sys.path.append(sys.argv.pop(1)); from xkg.cli.main import main; main()"
XKG = (sys.executable, "-P", "-c", _START, str(Path(__file__).resolve().parents[3]))


def check_bounds(settings: Settings) -> None:
    """Raises `ConfigError` where callers could spend without bound, or have code run that nothing contains."""
    if settings.llm.model != "none" and settings.llm.max_cost is None:
        raise ConfigError(
            "builds that clients ask for need a bound: set llm.max_cost (dollars a paper), or llm.model to none"
        )
    if settings.sandbox.runner == "unsafe-subprocess":
        raise ConfigError(
            "builds that clients ask for run code of strangers: sandbox.runner must not be unsafe-subprocess"
        )


class Jobs:
    """The builds of the graph of `settings`. Every method raises what `JobTable` raises. Safe to use from several
    threads, and beside other servers of the same graph."""

    def __init__(self, settings: Settings, command: Sequence[str] = XKG, roots: Sequence[Path] = ()) -> None:
        """`command` is what runs `xkg`; folders are read under `roots` alone. Raises as `check_bounds`."""
        check_bounds(settings)
        self._settings = settings
        self._command = tuple(command)
        self._roots = tuple(roots)
        self._folder = settings.kg.absolute() / FOLDER
        self._table = JobTable(self._folder)
        self._turn = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def hosts(self) -> Sequence[str]:
        """Those that repositories may be fetched from."""
        return self._settings.serve.build.hosts

    def start(self) -> None:
        """Goes on with what a server before this one left; in the background."""
        if (self._folder / "jobs.sqlite").is_file():
            self._ensure()

    def ask(self, paper: str, repository: str | None, asked_by: str) -> tuple[Row, bool]:
        """The job that builds these, as `xkg.serve.jobs.sources` wrote them, and whether it is a new one. Raises
        `InputError` where too many were asked for, and `StoreError` while the server ends."""
        if self._closing.is_set():
            raise StoreError("the server is about to end: ask again when it is back")
        per_day = self._settings.serve.build.per_day
        found = self._table.add(paper, repository or "", asked_by, waiting=MOST_WAITING, per_day=per_day)
        self._ensure()
        return found

    def get(self, job: int) -> Row:
        """Raises `UnknownIdError`."""
        row = self._table.get(job)
        if row is None:
            raise UnknownIdError(f"there is no job {job}: job_status without a job lists those that there are")
        return row

    def newest(self, most: int) -> tuple[list[Row], int]:
        """At most so many, those under way first, and how many there are."""
        return self._table.newest(most), self._table.count()

    def cancel(self, job: int) -> Row:
        """Ends a job soon, in whichever server it is; one that has ended stays as it is. Raises `UnknownIdError`."""
        row = self._table.cancel(job)
        if row is None:
            return self.get(job)
        self._ensure()
        return row

    def told(self, job: int) -> list[dict[str, Any]]:
        """What a build has said of its stages so far, oldest first (`xkg.cli.progress.told`)."""
        lines = _read(self._log(job)).splitlines()
        told = [_object(line) for line in lines if line.startswith('{"event": ')]  # the last may be half a line yet
        return [said for said in told if said is not None]

    def close(self, grace: float = LAST_GRACE_SECONDS) -> None:
        """Ends the build that this server watches, politely at first, and takes no more. What waits stays in the list
        for the next server."""
        self._closing.set()
        with self._turn:
            thread = self._thread
        if thread is not None:
            thread.join(3 * grace + 1)

    def _ensure(self) -> None:
        with self._turn:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        """Job after job until none is left. What is wrong with the list is logged, and told to those who ask for it;
        after a while it is tried again."""
        try:
            while not self._closing.is_set():
                try:
                    self._work_off()
                    return
                except XkgError as error:
                    log.error("builds wait, for a while: %s", error)
                    self._closing.wait(_PAUSE_SECONDS)
        finally:
            with self._turn:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _work_off(self) -> None:
        with self._alone() as alone:
            while alone and not self._closing.is_set():
                with self._turn:
                    row = self._table.next()
                    if row is None:
                        self._thread = None  # who asks from now on starts another
                        return
                self._attend(row)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Waits for the turn among the servers of this graph; False where this one ends before."""
        try:
            private_folder(self._folder)
            file = (self._folder / "turn.lock").open("wb")
        except OSError as error:
            raise StoreError(f"{self._folder} cannot be written ({error.strerror}): see to its rights") from error
        with file:
            while not _locked(file):
                if self._closing.wait(_TICK_SECONDS):
                    yield False
                    return
            yield True

    def _attend(self, row: Row) -> None:
        """Starts the job, or goes on with one that a server before this one started, and writes down how it ended."""
        if row.state == "queued":
            try:
                build: _Build = self._started(row)
            except OSError as error:
                self._settle(row, "failed", f"the build cannot be started ({error.strerror}): see to the server")
                return
        else:
            build = _Build(self._output(row.id), row.pid, None)
        began = time.monotonic()
        state: State | None = None
        why = ""
        while build.runs():
            current = self._table.get(row.id)
            if current is None or current.cancel:
                state, why = "cancelled", ""
            elif self._closing.is_set():
                state, why = "failed", "the server ended while it ran: ask for the build again to go on from there"
            elif time.monotonic() - began > LONGEST_SECONDS:
                state, why = "failed", f"it was ended after {LONGEST_SECONDS / 3600:.0f} hours: ask again to go on"
            if state is not None:
                build.end(LAST_GRACE_SECONDS if self._closing.is_set() else GRACE_SECONDS)
                break
            self._closing.wait(_TICK_SECONDS)
        self._settle(row, state, why, build.code)

    def _started(self, row: Row) -> "_Build":
        llm = self._settings.llm
        command = [*self._command, f"--kg={self._settings.kg.absolute()}", "build", "--json", "--progress=json"]
        command += [f"--paper={row.paper}", *([f"--repo={row.repository}"] if row.repository else [])]
        command += [f"--within={root}" for root in self._roots] or ["--within="]
        # The bounds that this server was started with hold, whatever xkg.yaml says by now.
        command += [f"--llm={llm.model}", *([f"--max-cost={llm.max_cost}"] if llm.max_cost is not None else [])]
        with self._output(row.id).open("ab") as output, self._log(row.id).open("ab") as log:
            if not _locked(output):  # a server started it, and died before it could write that down
                return _Build(self._output(row.id), None, None)
            output.truncate(0)
            log.truncate(0)
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                env=job_environment(self._settings),
                start_new_session=True,
            )
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
        with contextlib.suppress(OSError):
            Path(f"/proc/{process.pid}/oom_score_adj").write_text(_FIRST_TO_GO)
        self._table.started(row.id, process.pid)
        return _Build(self._output(row.id), process.pid, process)

    def _settle(self, row: Row, state: State | None, why: str, code: int | None = None) -> None:
        result = _read(self._output(row.id))
        built = _object(result)
        if built is None:
            result = ""
        last = [line for line in _read(self._log(row.id)).splitlines() if line.startswith("xkg: ")]
        said = last[-1].removeprefix("xkg: ") if last else ""
        if state is None and built is not None:
            whole = built.get("state") == "complete" and not built.get("stopped")
            state, why = (
                ("done", "") if whole else ("partial", said or "parts of it failed: ask again to try once more")
            )
        elif state is None:
            signalled = f" (signal {-code}, perhaps for want of memory)" if code is not None and code < 0 else ""
            ended = f"its process ended without a word{signalled}: ask for the build again to go on from there"
            state, why = "failed", said or ended
        for forgotten in self._table.ended(row.id, state, result, why):
            for path in (self._log(forgotten), self._output(forgotten)):
                path.unlink(missing_ok=True)

    def _log(self, job: int) -> Path:
        return self._folder / f"{job}.log"

    def _output(self, job: int) -> Path:
        return self._folder / f"{job}.json"


class _Build:
    """A process group that builds; `process` is None for one that another server started. `code` is how it ended, None
    where that cannot be known."""

    def __init__(self, output: Path, pid: int | None, process: "subprocess.Popen[bytes] | None") -> None:
        self._output = output
        self._pid = pid
        self._process = process
        self.code: int | None = None

    def runs(self) -> bool:
        if self._process is not None:
            self.code = self._process.poll()
            return self.code is None
        try:
            with self._output.open("rb") as file:
                return not _locked(file)
        except OSError:
            return False

    def end(self, grace: float) -> None:
        """Asks it to end, then tells it, then ends it and what is left of its group."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._signal(number)
            if self._gone(grace):
                break
        self._signal(signal.SIGKILL)
        self._gone(grace)

    def _signal(self, number: int) -> None:
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, number)

    def _gone(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while self.runs():
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True


def _locked(file: IO[bytes]) -> bool:
    """Takes the lock of an open file if nobody has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_LOG).decode("utf-8", "replace")
    except OSError:
        return ""


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
