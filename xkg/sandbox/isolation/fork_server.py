"""Runs each job by forking a sandboxed process that has already imported modules (one process per environment).

Importing torch takes seconds, but forking a process that has already imported torch takes milliseconds. The process
runs in a runner's sandbox. Jobs run one at a time. Each job is a fork of the process (`xkg.sandbox.guest.fork_server`)
with its own Landlock domain, session and limits. When the job ends, its processes are killed and the scratch folders
emptied. Jobs share the sandbox's namespaces, because no process inside the sandbox may create new namespaces.
Successive jobs are therefore separated by their Landlock domains.

If forking is not possible, each job runs in a separate sandbox. Forking requires Linux 6.12, modules that start no
threads and share no memory, a script or `-c` as arguments, and xkg's own interpreter."""

import contextlib
import json
import os
import select
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xkg.sandbox.guest import landlock
from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.isolation.bubblewrap_mounts import kernel_limits
from xkg.sandbox.isolation.scratch import relative, require_startable
from xkg.sandbox.isolation.watchdog import Watched, descendants, follow
from xkg.sandbox.runner import Job, Limits, Outcome, Runner

_LASTING_SECONDS = 86_400.0

_INSIDE = ("landlock", "supervisor", "fork_server")
_START = "import sys; sys.path[0] = '.'; from xkg.sandbox.guest.fork_server import main; main()"
_IDLE = max(4, os.cpu_count() or 1)
_ENDING_SECONDS = 10.0
_MESSAGE = 1 << 16

_Kind = tuple[Path | None, int, int, int, tuple[str, ...]]


@dataclass(frozen=True)
class Opened:
    """An open sandbox. `process` is the child process, whose stdout is a pipe. `scratch` is the folder outside the
    sandbox that contains the scratch folders, if only the watchdog limits their size. `end` kills all processes and
    removes their files."""

    process: subprocess.Popen[bytes]
    scratch: Path | None
    end: Callable[[], object]


class Openable(Runner, Protocol):
    """A runner that can keep its sandbox open."""

    def open(self, job: Job, passed: int) -> Opened:
        """Starts a lasting job. The scratch folders, starting with the home folder, are appended to its arguments. The
        descriptor `passed` stays open under the same number. No process in the sandbox can change another process's
        limits or priority. Raises the same errors as `run`."""


class WarmRunner:
    """A `Runner` that forks each job from a process that has already imported the job's `modules`, if the job's
    environment contains them. Thread-safe: each thread uses a separate process. Close the runner after use, or use it
    in a `with` statement.

    If a process is lost during a job, the job is rerun in a separate sandbox, and the next job starts a new process.
    Raises the same errors as `runner`."""

    def __init__(self, runner: Openable, modules: Callable[[Job], Sequence[str]]) -> None:
        self.name = runner.name
        self.weaker = (
            *runner.weaker,
            "successive jobs in one environment share namespaces, so only Landlock separates them",
        )
        self._runner = runner
        self._modules = modules
        self._lock = threading.Lock()
        self._idle: list[tuple[_Kind, _Process]] = []
        self._cold: set[_Kind] = set()
        self._closed = False
        # bubblewrap exits when the thread that started it exits, so a long-lived thread has to start it.
        self._starter = ThreadPoolExecutor(1, "warm")

    def __enter__(self) -> "WarmRunner":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends idle processes. Running jobs continue, and their processes exit afterwards."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        self._starter.shutdown()
        for _, process in idle:
            process.end()

    def run(self, job: Job) -> Outcome:
        process = self._acquire(job) if _can_be_forked(job) else None
        if process is None:
            return self._runner.run(job)
        kind = self._kind(job)
        try:
            outcome = process.run(job, f"{self.name}, warm")
        except _LostError:
            process.end()
            return self._runner.run(job)
        except BaseException:
            process.end()
            raise
        self._put_back(kind, process)
        return outcome

    def _acquire(self, job: Job) -> "_Process | None":
        kind = self._kind(job)
        with self._lock:
            if kind in self._cold:
                return None
            waiting = next((entry for entry in reversed(self._idle) if entry[0] == kind), None)
            if waiting is not None:
                self._idle.remove(waiting)
        if waiting is not None:
            if waiting[1].lives():
                return waiting[1]
            waiting[1].end()
        process = _Process(lambda passed: self._starter.submit(self._opened, job, passed).result())
        if process.warm_up(job.limits):
            return process
        process.end()
        with self._lock:
            self._cold.add(kind)
        return None

    def _kind(self, job: Job) -> _Kind:
        """Returns the properties that jobs must share to be forked from the same process."""
        site = None if job.site is None else job.site.resolve()
        limits = job.limits
        return site, limits.memory_mb, limits.disk_mb, limits.processes, tuple(self._modules(job))

    def _opened(self, job: Job, passed: int) -> Opened:
        files = {f"xkg/sandbox/guest/{name}.py": guest_source(name) for name in _INSIDE}
        arguments = ("-c", _START, str(passed), str(landlock.version()), json.dumps(list(self._modules(job))))
        limits = job.limits.model_copy(update={"processes": job.limits.processes + 1, "seconds": _LASTING_SECONDS})
        return self._runner.open(Job(arguments=arguments, files=files, site=job.site, limits=limits), passed)

    def _put_back(self, kind: _Kind, process: "_Process") -> None:
        over = []
        with self._lock:
            if process.clean and not self._closed:
                self._idle.append((kind, process))
            else:
                over.append(process)
            while len(self._idle) > _IDLE:
                over.append(self._idle.pop(0)[1])
        for each in over:
            each.end()


class _LostError(Exception):
    """Raised if the process ended, which leaves the job's outcome unknown."""


class _Process:
    """A handle to a warm process in its sandbox. `clean` means that the last job left nothing behind."""

    def __init__(self, open_: Callable[[int], Opened]) -> None:
        self._control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._opened = open_(inside.fileno())
        except BaseException:
            self._control.close()
            raise
        finally:
            inside.close()
        self._excluded: frozenset[int] = frozenset()
        self.clean = True

    def warm_up(self, limits: Limits) -> bool:
        """Waits until the imports are done, applying a job's limits. Returns whether jobs can be forked from the
        process."""
        process = self._opened.process
        assert process.stdout is not None
        watched = follow(process.pid, self._control.fileno(), process.stdout.fileno(), limits, self._opened.scratch)
        ready = watched.stopped is None and self._receive() == "ready"
        process.stdout.close()
        self._excluded = frozenset(descendants(process.pid))
        return ready

    def run(self, job: Job, name: str) -> Outcome:
        limits = kernel_limits(job.limits)
        del limits["NPROC"]  # the sandbox sets this limit, with a margin for its other processes
        content = json.dumps({"arguments": job.arguments, "files": dict(job.files), "limits": limits})
        opened = self._opened
        with contextlib.ExitStack() as cleanup:
            job_file = os.memfd_create("job")
            written = os.fdopen(job_file, "wb", closefd=False)
            output, output_writer = os.pipe()
            leash, leash_end = os.pipe()
            cleanup.callback(os.close, output)
            release = cleanup.enter_context(contextlib.ExitStack())
            release.callback(os.close, leash_end)
            try:
                with written:
                    written.write(content.encode())
                socket.send_fds(self._control, [b"job"], [job_file, output_writer, leash])
            except OSError as error:
                raise _LostError from error
            finally:
                for descriptor in (job_file, output_writer, leash):
                    os.close(descriptor)
            watched = follow(
                opened.process.pid, self._control.fileno(), output, job.limits, opened.scratch, self._excluded
            )
            release.close()
            return self._outcome(job, watched, name)

    def _outcome(self, job: Job, watched: Watched, name: str) -> Outcome:
        try:
            status, clean = map(int, self._receive().split())
            code = os.waitstatus_to_exitcode(status)
        except ValueError as error:
            raise _LostError from error
        self.clean = bool(clean)
        return watched.outcome(code, name, ("python", *job.arguments))

    def _receive(self) -> str:
        if not select.select([self._control], [], [], _ENDING_SECONDS)[0]:
            return ""
        try:
            return self._control.recv(_MESSAGE).decode("utf-8", "replace")
        except OSError:
            return ""

    def lives(self) -> bool:
        """Returns whether the process is waiting for a job. Returns False if the process has exited or sent unexpected
        data."""
        return self._opened.process.poll() is None and not select.select([self._control], [], [], 0)[0]

    def end(self) -> None:
        self._control.close()
        self._opened.end()


def _can_be_forked(job: Job) -> bool:
    if landlock.version() < landlock.SCOPES_FROM or not job.arguments or job.python is not None:
        return False
    require_startable(job.arguments)
    first = job.arguments[0]
    for name in job.files:
        relative(name)
    return (first == "-c" and len(job.arguments) > 1) or first in job.files
