"""Runs local programs that read untrusted data, such as git, with the same confinement as untrusted code.

A program can access only its own files, the system's files and its own environment variables. A proxy gives it access
to the allowed hosts. A program's input and output are files, so the kernel limits their size and no pipe can block. If
neither bubblewrap nor Landlock is available, only time, file size and hosts are limited."""

import contextlib
import functools
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Literal

from xkg.errors import SandboxUnavailableError
from xkg.operating_system import is_root
from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.bubblewrap_mounts import (
    CAP_CHOWN,
    CAP_SETGID,
    CAP_SETUID,
    HOME,
    QUIET,
    Confined,
    Mount,
    holds,
    kernel_limits,
    unused_uid,
)
from xkg.sandbox.isolation.host_proxy import Host, proxy_port, registry_socket
from xkg.sandbox.isolation.interpreters import Interpreter, own
from xkg.sandbox.isolation.landlock import LandlockRunner
from xkg.sandbox.isolation.scratch import fill
from xkg.sandbox.isolation.watchdog import Ended, Streams, Watched
from xkg.sandbox.runner import Limits, Outcome

Wall = Literal["bubblewrap", "landlock"]

_FOLDER, _SOCKET = "/folder", "/socket"
_COMPILER_FILES = ("/usr/include", "/usr/libexec", "/usr/share/perl", "/usr/share/perl5")
_LIMITED = (
    guest_source("landlock") + "import json\nset_limits(json.loads(sys.argv[1]))\nos.execv(sys.argv[2], sys.argv[2:])\n"
)


def compiler_files() -> tuple[Path, ...]:
    """Returns the folders that compilers read, in addition to the libraries that are visible to every program."""
    return tuple(Path(name) for name in _COMPILER_FILES if Path(name).exists())


@dataclass(frozen=True)
class Program:
    """A command to run in `folder`. The command may read `folder` and `reads`, and may read and write `writes` and the
    device nodes in `devices`. `hosts` lists the hosts that the command can reach through an HTTP proxy (with `public`
    as in `registry_socket`), and `max_bytes` limits the traffic. `ends` is the number of bytes to return from the start
    and from the end of the output, or None for all of it. The file `output` receives the whole output. `other` is an
    additional interpreter that the command may start. If `trusted` is false, the command can access only what
    file modes allow."""

    command: tuple[str, ...]
    folder: Path
    limits: Limits
    variables: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    devices: tuple[Mount, ...] = ()
    hosts: frozenset[Host] = frozenset()
    public: bool = False
    max_bytes: int = 0
    ends: int | None = None
    output: Path | None = None
    other: Interpreter | None = None
    trusted: bool = True

    @property
    def reads_all(self) -> bool:
        """Returns whether the command may read everything in its folders that root could read."""
        return self.trusted and not self.writes and not self.hosts


@dataclass(frozen=True)
class ProgramResult:
    """The result of running a program. `output` is the program's stdout, `stderr` the end of its stderr, and `refused`
    the hosts blocked by the proxy. `omitted` is the number of bytes cut from the middle of stdout, at
    `output[Program.ends]`."""

    ended: Ended
    exit_code: int | None
    output: bytes
    stderr: str
    refused: frozenset[str] = frozenset()
    omitted: int = 0
    seconds: float = 0
    peak_memory_mb: float = 0

    @property
    def ok(self) -> bool:
        return self.ended == "exited" and self.exit_code == 0


@functools.cache
def wall() -> Wall | None:
    """Returns the runner that confines programs on this machine, or None if no runner passes a trial run. The runner is
    chosen once per process, so no input can weaken the confinement."""
    trial = Program(("/usr/bin/true",), Path("/usr/bin"), Limits(seconds=20))
    for name in ("bubblewrap", "landlock") if platform.system() == "Linux" else ():
        for _ in range(2):  # on a busy machine, the first trial may fail
            with contextlib.suppress(SandboxUnavailableError):
                if run(trial, behind=name).ok:
                    return name
    return None


def run(program: Program, stdin: bytes = b"", *, behind: Wall | Literal["any"] | None = "any") -> ProgramResult:
    """Runs a program with `stdin`, confined by `behind` (by default, this machine's `wall`). `limits.disk_mb` limits
    the output. Raises `SandboxUnavailableError` if the program cannot be started, but never because of what the program
    does."""
    behind = wall() if behind == "any" else behind
    refused: set[str] = set()
    with (
        tempfile.TemporaryFile() as source,
        program.output.open("w+b") if program.output else tempfile.TemporaryFile() as output_file,
    ):
        source.write(stdin)
        source.seek(0)
        streams = Streams(source, output_file)
        if behind == "bubblewrap":
            outcome = _under_bubblewrap(program, streams, refused)
        else:
            with _through_port(program, refused) as (reaching, port):
                if behind == "landlock":
                    confined = _confined(reaching, str(program.folder))
                    outcome = LandlockRunner().confine(confined, streams, port)
                else:
                    outcome = _bare(reaching, streams)
        output, omitted = _content(output_file, program)
    return ProgramResult(
        outcome.ended,
        outcome.exit_code,
        output,
        outcome.output,
        frozenset(refused),
        omitted,
        outcome.seconds,
        outcome.peak_memory_mb,
    )


def _content(file: BinaryIO, program: Program) -> tuple[bytes, int]:
    """Returns the output and the number of bytes cut from its middle."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if program.ends is None or size <= 2 * program.ends:
        return file.read(program.limits.disk_mb << 20), 0
    start = file.read(program.ends)
    file.seek(size - program.ends)
    return start + file.read(program.ends), size - 2 * program.ends


def lend(folder: Path) -> None:
    """Transfers a folder and its contents to the uid that root's programs run under."""
    if is_root() and wall() is not None and holds(CAP_SETUID, CAP_SETGID, CAP_CHOWN):
        fill(folder, {}, unused_uid(keeper="folders"))


@contextlib.contextmanager
def _through_port(program: Program, refused: set[str]) -> Iterator[tuple[Program, int | None]]:
    if not program.hosts:
        yield program, None
        return
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    with proxy_port(program.hosts, program.max_bytes, refused, public=program.public) as port:
        proxied = dict.fromkeys((*names, *map(str.lower, names)), f"http://127.0.0.1:{port}")
        yield replace(program, variables={**program.variables, **proxied, "NO_PROXY": "", "no_proxy": ""}), port


def _confined(program: Program, folder: str) -> Confined:
    mounts = [Mount(program.folder, folder), *(Mount(path, str(path)) for path in program.reads)]
    return Confined(
        program.command,
        program.limits,
        mounts=(*mounts, *(Mount(path, str(path), writable=True) for path in program.writes)),
        devices=program.devices,
        variables=program.variables,
        folder=folder,
        other=program.other,
        reads_all=program.reads_all,
        keeper="folders" if program.writes else None,
    )


def _under_bubblewrap(program: Program, streams: Streams, refused: set[str]) -> Outcome:
    confined = _confined(program, _FOLDER)
    if not program.hosts:
        return BubblewrapRunner().confine(confined, streams)
    with registry_socket(program.hosts, program.max_bytes, refused, public=program.public) as socket:
        confined = replace(
            confined,
            command=(str(own().program), "-I", "-S", f"{HOME}/forward.py", _SOCKET, *program.command),
            files={"forward.py": guest_source("forward")},
            mounts=(*confined.mounts, Mount(socket, _SOCKET)),
            unix_sockets=True,
        )
        return BubblewrapRunner().confine(confined, streams)


def _bare(program: Program, streams: Streams) -> Outcome:
    """Runs a program with resource limits only. Memory is limited only if the kernel supports a limit per process
    (`DATA`), unlike macOS."""
    with (
        tempfile.TemporaryDirectory(prefix="xkg-job-", ignore_cleanup_errors=True) as home,
        tempfile.TemporaryFile() as errors,
    ):
        limits = {name: most for name, most in kernel_limits(program.limits).items() if name != "NPROC"}
        process = subprocess.Popen(
            (sys.executable, "-I", "-S", "-c", _LIMITED, json.dumps(limits), *program.command),
            stdin=streams.stdin,
            stdout=streams.stdout,
            stderr=errors,
            env={**QUIET, "PATH": os.defpath, "HOME": home, "TMPDIR": home, **program.variables},
            cwd=program.folder,
            start_new_session=True,
        )
        stopped: Ended | None = None
        started = time.monotonic()
        try:
            process.wait(program.limits.seconds)
        except subprocess.TimeoutExpired:
            stopped = "timeout"
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - (program.limits.output_kb << 10)))
        text = errors.read().decode("utf-8", "replace")
    watched = Watched(stopped, text, time.monotonic() - started, 0)
    return watched.outcome(process.returncode, "none", program.command)
