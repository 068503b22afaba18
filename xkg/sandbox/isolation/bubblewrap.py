"""Runs jobs in bubblewrap, with separate namespaces, no network, a read-only system, a system call filter, and a
non-root uid.

`bubblewrap_mounts` defines the files that a job sees, `seccomp` the denied system calls, and `watchdog` the limits on
memory, time and output. If root starts bubblewrap, the sandbox is created as root and then drops to an unused high uid.
For any other user, the sandbox is a user namespace. `bwrap --die-with-parent` exits when its parent exits, together
with all processes in the sandbox, including daemons."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import BinaryIO

from xkg.errors import InputError, SandboxUnavailableError
from xkg.sandbox.isolation import seccomp
from xkg.sandbox.isolation.bubblewrap_mounts import (
    HOME,
    PYTHON,
    SITE,
    Confined,
    Mount,
    arguments,
    limiting,
    outside_uid,
    python_files,
)
from xkg.sandbox.isolation.fork_server import Opened
from xkg.sandbox.isolation.interpreters import at
from xkg.sandbox.isolation.watchdog import Streams, kill_tree, prefer_for_oom, watch
from xkg.sandbox.runner import Job, Outcome

# bwrap returns 128 plus the number of the signal that ended the command, up to SIGSYS.
_SIGNALLED = range(129, 160)
_EXIT_SECONDS = 5


class BubblewrapRunner:
    """Confines a job with `bwrap`. Thread-safe.

    Raises `SandboxUnavailableError` if bubblewrap or libseccomp is missing or the kernel does not allow sandboxing.
    Raises `UnsafeInputError` for a file outside the scratch folder, and `InputError` for arguments that cannot be
    passed to a process."""

    name = "bubblewrap"
    weaker: tuple[str, ...] = ()

    def run(self, job: Job) -> Outcome:
        return self.confine(_python(job), command=("python", *job.arguments))

    def confine(self, confined: Confined, streams: Streams | None = None, command: tuple[str, ...] = ()) -> Outcome:
        """Runs any command in the sandbox. Raises the same errors as `run`. The outcome reports `command`, if given,
        instead of the actual command."""
        process, reports = _start(confined, streams=streams)
        with reports:
            with process:
                watched = watch(process, confined.limits, lambda: kill_tree(process.pid))
            child, exit_code = _parse_reports(reports.read())
        if child is not None:
            _wait_for_exit(child)
        if watched.stopped is None and exit_code is None:
            raise SandboxUnavailableError(_refusal(watched.output))
        exit_code = exit_code or 0
        code = 128 - exit_code if exit_code in _SIGNALLED else exit_code
        return watched.outcome(code, self.name, command or confined.command)

    def open(self, job: Job, passed: int) -> Opened:
        """See `Openable.open`."""
        confined = _python(job)
        command = (*confined.command, HOME, "/tmp", "/dev/shm")
        confined = replace(confined, command=command, lasting=True, denied=seccomp.OTHER_PROCESSES)
        process, reports = _start(confined, passed)

        def end() -> None:
            with reports, process:
                kill_tree(process.pid)
                process.wait()
                child, _ = _parse_reports(reports.read())
            if child is not None:
                _wait_for_exit(child)

        return Opened(process, None, end)


def _python(job: Job) -> Confined:
    return Confined(
        (f"{PYTHON}/bin/python", *job.arguments),
        job.limits,
        job.files,
        mounts=() if job.site is None else (Mount(job.site.resolve(), SITE),),
        python=python_files(None if job.site is None else SITE, at(job.python)),
        other=at(job.python) if job.python else None,
    )


def _start(
    confined: Confined, *passed: int, streams: Streams | None = None
) -> tuple[subprocess.Popen[bytes], BinaryIO]:
    """Starts the sandbox's first process. Returns the process and the stream of bubblewrap's reports. `passed` are
    descriptors that stay open inside the sandbox."""
    uid = outside_uid(keeper=confined.keeper, lasting=confined.lasting)
    descriptors: list[int] = []
    status, status_writer = os.pipe()
    descriptors.append(status_writer)

    def sealed(content: bytes) -> str:
        descriptor = os.memfd_create("xkg")
        descriptors.append(descriptor)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return str(descriptor)

    reports = os.fdopen(status, "rb")
    try:
        plan = arguments(confined, uid, sealed)
        plan += ("--json-status-fd", str(status_writer))
        rules = seccomp.program(unix_sockets=confined.unix_sockets, more=confined.denied)
        plan += ("--seccomp", sealed(rules))
        # The arguments are passed through a descriptor, because the job can read the command line of process 1.
        limits = limiting(confined.limits, uid, reads_all=confined.reads_all)
        listed = sealed(b"\0".join(os.fsencode(argument) for argument in plan) + b"\0")
        process = subprocess.Popen(
            (_bwrap(), "--args", listed, "--", *limits, *confined.command),
            stdin=streams.stdin if streams else subprocess.DEVNULL,
            stdout=streams.stdout if streams else subprocess.PIPE,
            stderr=subprocess.PIPE if streams else subprocess.STDOUT,
            env={},
            cwd="/",
            pass_fds=(*descriptors, *passed),
            start_new_session=True,
        )
    except BaseException as error:
        reports.close()
        if isinstance(error, (OSError, ValueError)):
            raise InputError(f"the job cannot be started ({error}); pass long code as a file") from error
        raise
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    prefer_for_oom(process.pid)
    return process, reports


def _parse_reports(reports: bytes) -> tuple[int | None, int | None]:
    """Returns the pid of the sandbox's process 1, and the command's exit code. The exit code is None if the command
    never started."""
    child = exit_code = None
    for line in reports.splitlines():
        with contextlib.suppress(ValueError):
            report = json.loads(line)
            child = report.get("child-pid", child)
            exit_code = report.get("exit-code", exit_code)
    return child, exit_code


def _wait_for_exit(process: int) -> None:
    """Waits until the sandbox's process 1 has exited. Process 1 exits only after every other process in the sandbox."""
    try:
        descriptor = os.pidfd_open(process)
    except OSError:
        return
    try:
        select.select([descriptor], [], [], _EXIT_SECONDS)
    finally:
        os.close(descriptor)


def _bwrap() -> str:
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxUnavailableError("bubblewrap is not installed; run `apt-get install bubblewrap`")
    return program


def _refusal(output: str) -> str:
    message = next((line.strip() for line in output.splitlines() if line.strip()), "no reason given")[:200]
    if "uid map" in message or "namespace" in message or "Operation not permitted" in message:
        advice = (
            "allow user namespaces (sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, "
            "or kernel.unprivileged_userns_clone=1; a container needs --privileged)"
        )
    elif "Permission denied" in message:
        advice = f"make the interpreter readable by everyone (chmod -R o+rX {sys.base_prefix})"
    else:
        advice = "update bubblewrap (apt-get install bubblewrap util-linux)"
    return f"bubblewrap cannot sandbox code on this machine ({message}); {advice}"
