"""Runs jobs under Landlock, on machines without bubblewrap. This runner uses Landlock rules and denied system calls
instead of namespaces.

The job may read the files that it needs (the interpreter, the system's libraries, its packages) and write to its
scratch folder. The job cannot read any other file, create a socket, or signal, trace or inspect processes other than
its own. `xkg.sandbox.guest.launch` is the job's first process, and `xkg.sandbox.guest.supervisor` ends every process
that the job leaves running. Root switches to an unused uid. An ordinary user's job keeps that user's uid, so the system
call filter denies operations that Landlock does not cover. The denied operations are changes to file modes, owners,
times and attributes, changes to process priorities and limits, and, on old kernels, signals and truncation."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from xkg.errors import SandboxUnavailableError
from xkg.sandbox.guest import landlock
from xkg.sandbox.guest.landlock import EVERYTHING, IOCTL_DEV, READ, READ_DIR, READ_FILE, RUN, SCOPES_FROM, WRITE_FILE
from xkg.sandbox.isolation import seccomp
from xkg.sandbox.isolation.bubblewrap_mounts import (
    CAP_CHOWN,
    CAP_DAC_READ_SEARCH,
    CAP_SETGID,
    CAP_SETUID,
    QUIET,
    Confined,
    holds,
    kernel_limits,
    python_files,
    unused_uid,
)
from xkg.sandbox.isolation.fork_server import Opened
from xkg.sandbox.isolation.interpreters import Interpreter, at, own
from xkg.sandbox.isolation.scratch import fill, remove, require_startable
from xkg.sandbox.isolation.seccomp import Denied
from xkg.sandbox.isolation.watchdog import Streams, Watched, kill_tree, watch
from xkg.sandbox.runner import Job, Limits, Outcome

_LAUNCH = Path(landlock.__file__).with_name("launch.py")
_TRUNCATE_FROM = 3
_ACCESS_MODE = 3
"""The value of O_ACCMODE. Python has this constant only since version 3.12, and not on every platform."""

_SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/bin", "/lib", "/lib32", "/lib64")
_OPEN = (
    *((place, READ) for place in ("/etc/alternatives", "/etc/ld.so.cache")),
    *((f"/dev/{name}", READ_FILE | WRITE_FILE) for name in ("null", "zero", "full")),
    *((f"/dev/{name}", READ_FILE) for name in ("random", "urandom")),
    *((f"/proc/{name}", READ) for name in ("self", "cpuinfo", "meminfo", "stat", "loadavg", "filesystems")),
    ("/proc/sys/vm/overcommit_memory", READ_FILE),
)

# Pairs of connected stream sockets stay allowed, because, unlike datagram sockets, they cannot send to an address.
_SOCKETS = (
    Denied("socket"),
    Denied("connect"),
    Denied("bind"),
    *(Denied("socketpair", 1, value=kind, mask=0xF) for kind in (2, 3)),
)
# These rules are for programs that use a proxy on a loopback port.
# TCP sockets may connect only to that port, because Landlock refuses all other connections.
_SOCKETS_BUT_TCP = (
    *(Denied("socket", 1, value=kind, mask=0xF) for kind in (2, 3, 5)),
    Denied("bind"),
    *(Denied("socketpair", 1, value=kind, mask=0xF) for kind in (2, 3)),
)
_WATCHES = (
    Denied("inotify_init"),
    Denied("inotify_init1"),
    *(Denied("fcntl", 1, value=command, mask=0xFFFFFFFF) for command in (1024, 1026)),  # F_SETLEASE, F_NOTIFY
)
# Before ABI 6, Landlock does not restrict signals. F_SETOWN and similar calls make the kernel send signals.
_SIGNALS = (
    *(
        Denied(call)
        for call in ("kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
    ),
    *(Denied("fcntl", 1, value=command, mask=0xFFFFFFFF) for command in (8, 10, 15)),
    *(Denied("ioctl", 1, value=request, mask=0xFFFFFFFF) for request in (0x8901, 0x8902)),
)
# Before ABI 3, Landlock allows truncating files by path, or by opening them for reading (O_TRUNC without O_WRONLY).
_TRUNCATION = (
    Denied("truncate"),
    Denied("truncate64"),
    Denied("openat2", answer="absent"),
    Denied("open", 1, value=os.O_TRUNC, mask=os.O_TRUNC | _ACCESS_MODE),
    Denied("openat", 2, value=os.O_TRUNC, mask=os.O_TRUNC | _ACCESS_MODE),
)
# Landlock allows these changes even to read-only files.
# The file's mode controls changes to times and attributes, and ownership controls changes to modes and owners.
# Copying a file ends by setting the copy's mode and times, so the filter makes these calls appear to succeed.
_METADATA = (
    *(Denied(call, answer="pretended") for call in ("utime", "utimes", "futimesat", "utimensat")),
    *(Denied(f"{kind}{call}xattr") for kind in ("", "l", "f") for call in ("set", "remove")),
    *(Denied(f"{call}xattrat") for call in ("set", "remove")),
)
_OWNERSHIP = (
    *(Denied(call, answer="pretended") for call in ("chmod", "fchmod", "fchmodat", "fchmodat2")),
    *(Denied(call) for call in ("chown", "fchown", "lchown", "fchownat", "file_setattr")),
    *(Denied("ioctl", 1, value=kind << 8, mask=0xFF00) for kind in (ord("f"), ord("X"))),  # attributes, seals, keys
)


class LandlockRunner:
    """Confines a job with Landlock and seccomp. Thread-safe.

    Raises the same errors as `BubblewrapRunner`, including `SandboxUnavailableError` if the kernel has no Landlock or
    libseccomp is missing."""

    name = "landlock"

    @property
    def weaker(self) -> tuple[str, ...]:
        return tuple(_weaker(landlock.version(), ordinary=os.geteuid() != 0))

    def run(self, job: Job) -> Outcome:
        require_startable(job.arguments)
        return self._watched(_start(job), job.limits, ("python", *job.arguments))

    def confine(self, confined: Confined, streams: Streams, port: int | None = None) -> Outcome:
        """Runs any command with access to the system's files and to the mounts, which keep their paths. The command may
        connect to `port` on any machine (before ABI 4, to any port). If root cannot grant another user access to all
        mounted folders, the command runs as root."""
        return self._watched(_start_confined(confined, streams, port), confined.limits, confined.command)

    def _watched(self, started: "_Started", limits: Limits, command: tuple[str, ...]) -> Outcome:
        try:
            watched = watch(started.process, limits, started.release, started.room)
        finally:
            status = started.end()
        _require_contained(status, watched)
        return watched.outcome(os.waitstatus_to_exitcode(int(status)) if status else -9, self.name, command)

    def open(self, job: Job, passed: int) -> Opened:
        """See `Openable.open`."""
        started = _start(job, passed)
        return Opened(started.process, started.room, started.end)


@dataclass
class _Started:
    """A running supervisor and its job. `end` returns the supervisor's last line: a wait status, `refused` with a
    reason, or ''."""

    process: subprocess.Popen[bytes]
    room: Path
    reports: BinaryIO
    leash: int | None

    def release(self) -> None:
        """Makes the supervisor end the whole job and then exit."""
        if self.leash is not None:
            os.close(self.leash)
            self.leash = None
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                kill_tree(self.process.pid)

    def end(self) -> str:
        try:
            with self.reports, self.process:
                self.release()
                return self.reports.read().decode("utf-8", "replace").strip()
        finally:
            remove(self.room)


def _start(job: Job, *passed: int) -> _Started:
    uid = _uid(lasting=bool(passed))
    interpreter = at(job.python)
    packages = () if job.site is None else (job.site.resolve(),)
    closed = uid is not None and _closed([_rooms(), interpreter.prefix, *packages])
    with _room(uid, job.files) as room:
        (room / "python/bin").mkdir(parents=True)
        fill(room / "python", python_files(str(packages[0]) if packages else None, interpreter))
        (room / "python/bin/python").symlink_to(interpreter.program)
        places = (str(room / "job"), str(room / "tmp"))
        command = (str(room / "python/bin/python"), *job.arguments, *(places if passed else ()))
        paths = (
            *_paths(room, interpreter),
            (str(room / "python"), RUN),
            *((str(package), RUN) for package in packages),
        )
        confined = Confined(command, job.limits, folder=places[0])
        return _launch(confined, room, paths, uid, passed, pass_closed_folders=closed)


def _start_confined(confined: Confined, streams: Streams, port: int | None) -> _Started:
    others = (confined.other,) if confined.other else ()
    needed = [_rooms(), *(each.prefix for each in (own(), *others)), *(mount.source for mount in confined.mounts)]
    try:
        uid = unused_uid(keeper=confined.keeper) if os.geteuid() == 0 else None
        if uid is not None and not holds(CAP_SETUID, CAP_SETGID, CAP_CHOWN):
            uid = None
        closed = uid is not None and _closed(needed)
    except SandboxUnavailableError:
        uid, closed = None, False
    closed = closed or (uid is not None and confined.reads_all and holds(CAP_DAC_READ_SEARCH))
    reached = [(str(mount.source), EVERYTHING & ~IOCTL_DEV if mount.writable else RUN) for mount in confined.mounts]
    if confined.devices:
        reached += [(str(each.source), READ_FILE | WRITE_FILE | IOCTL_DEV) for each in confined.devices]
        reached += [("/proc/driver/nvidia", READ)]
    with _room(uid, {}) as room:
        paths = (*_paths(room, *others), *reached)
        return _launch(confined, room, paths, uid, (), streams, port, pass_closed_folders=closed)


def _rooms() -> Path:
    return Path(tempfile.gettempdir())


@contextlib.contextmanager
def _room(uid: int | None, files: Mapping[str, str]) -> Iterator[Path]:
    """Yields a folder for one job. Removes the folder if the job does not start."""
    room = Path(tempfile.mkdtemp(prefix="xkg-job-"))
    try:
        room.chmod(0o755)
        for name, content in (("job", files), ("tmp", {})):
            (room / name).mkdir()
            fill(room / name, content, uid)
        yield room
    except BaseException:
        remove(room)
        raise


def _launch(
    confined: Confined,
    room: Path,
    paths: tuple[tuple[str, int], ...],
    uid: int | None,
    passed: tuple[int, ...],
    streams: Streams | None = None,
    port: int | None = None,
    *,
    pass_closed_folders: bool,
) -> _Started:
    abi = landlock.version()
    if abi == 0:
        raise SandboxUnavailableError(
            "this kernel has no Landlock; use Linux 5.13 or later with landlock among the security modules"
        )
    places = (str(room / "job"), str(room / "tmp"))
    sockets = _SOCKETS if port is None else _SOCKETS_BUT_TCP
    denied = seccomp.program(unix_sockets=False, more=(*sockets, *_denied(abi, ordinary=uid is None)))
    stdin = (streams.stdin.fileno(),) if streams else ()
    settings = {
        "command": confined.command,
        "folder": confined.folder,
        "variables": QUIET | {"HOME": places[0], "TMPDIR": places[1]} | dict(confined.variables),
        "limits": kernel_limits(confined.limits) | {"NPROC": _processes(confined.limits, uid)},
        "paths": paths,
        "filter": denied.hex(),
        "abi": abi,
        "uid": uid,
        "pass_closed_folders": pass_closed_folders,
        "port": port,
        "stdin": stdin[0] if stdin else None,
    }
    reports, status = os.pipe()
    leash, leash_end = os.pipe()
    try:
        process = subprocess.Popen(
            (str(own().program), "-I", "-S", str(_LAUNCH)),
            stdin=subprocess.PIPE,
            stdout=streams.stdout if streams else subprocess.PIPE,
            stderr=subprocess.PIPE if streams else subprocess.STDOUT,
            env={},
            cwd="/",
            pass_fds=(status, leash, *stdin, *passed),
            start_new_session=True,
        )
    except OSError as error:
        os.close(leash_end)
        os.close(reports)
        raise SandboxUnavailableError(f"the interpreter {own().program} cannot be started ({error})") from error
    finally:
        os.close(status)
        os.close(leash)
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin:
        process.stdin.write(json.dumps(settings | {"status": status, "leash": leash}).encode())
    return _Started(process, room, os.fdopen(reports, "rb"), leash_end)


def _require_contained(status: str, watched: Watched) -> None:
    if status.startswith("refused") or (not status and watched.stopped is None):
        why = (
            status.removeprefix("refused ").splitlines()
            or watched.output.strip().splitlines()[-1:]
            or ["no reason given"]
        )
        raise SandboxUnavailableError(
            f"Landlock cannot sandbox code on this machine ({why[0][:200]}); check that the interpreter is "
            "readable by other users"
        )


def _uid(*, lasting: bool) -> int | None:
    if os.geteuid() != 0:
        return None
    if not holds(CAP_SETUID, CAP_SETGID, CAP_CHOWN):
        raise SandboxUnavailableError("this root user cannot switch to another user; run as an ordinary user instead")
    return unused_uid(lasting=lasting)


def _closed(places: list[Path]) -> bool:
    """Returns whether any of these folders is closed to other users. Raises `SandboxUnavailableError` if this process
    lacks the capability to enter a closed folder."""
    for place in places:
        for folder in (place, *place.parents):
            if not folder.stat().st_mode & 0o001:
                if not holds(CAP_DAC_READ_SEARCH):
                    raise SandboxUnavailableError(f"{place} is closed to other users; run chmod o+x {folder}")
                return True
    return False


def _processes(limits: Limits, uid: int | None) -> int:
    """Returns the value for the kernel's process limit, which counts all threads with the same uid. With a separate
    uid, only the threads of the job and its supervisor count. For an ordinary user, the value also covers the user's
    other threads and a margin for other jobs. The watchdog then counts the job's processes instead."""
    if uid is not None:
        return limits.processes + 1
    mine = 0
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if process.stat().st_uid == os.geteuid():
                    mine += sum(1 for _ in (process / "task").iterdir())
            except OSError:
                continue
    return mine + 4 * limits.processes


def _paths(room: Path, *others: Interpreter) -> Iterator[tuple[str, int]]:
    interpreters = (own(), *others)
    hidden = [folder.resolve() for interpreter in interpreters for folder in interpreter.hidden]
    prefixes = {interpreter.prefix.resolve() for interpreter in interpreters if interpreter.prefix != Path("/usr")}
    for folder in {Path(place).resolve() for place in _SYSTEM} | prefixes:
        yield from _all_but(folder, hidden)
    yield from _OPEN
    for name in ("job", "tmp"):
        yield str(room / name), EVERYTHING & ~IOCTL_DEV


def _all_but(folder: Path, hidden: list[Path]) -> Iterator[tuple[str, int]]:
    """Yields everything in `folder` except the `hidden` folders. Hidden folders can be listed, because the right to
    list a folder also applies to its subfolders, but their files cannot be read."""
    if folder in hidden:
        return
    if not any(place.is_relative_to(folder) for place in hidden):
        yield str(folder), RUN
        return
    yield str(folder), READ_DIR
    for inner in folder.iterdir():
        if inner.is_symlink() or not inner.is_dir():
            yield str(inner), RUN
        else:
            yield from _all_but(inner, hidden)


def _denied(abi: int, *, ordinary: bool) -> tuple[Denied, ...]:
    return (
        *_WATCHES,
        *_METADATA,
        *seccomp.OTHER_PROCESSES,
        *(_OWNERSHIP if ordinary else ()),
        *(_TRUNCATION if abi < _TRUNCATE_FROM else ()),
        *(_SIGNALS if abi < SCOPES_FROM else ()),
        Denied("prctl", 0, value=4, mask=0xFFFFFFFF),  # PR_SET_DUMPABLE would hide a process from the watchdog
    )


def _weaker(abi: int, *, ordinary: bool) -> Iterator[str]:
    yield "jobs can see which other files and processes exist, and the files' sizes and dates, but not their contents"
    yield "disk use is checked every 20 ms: a job is stopped after it has written too much, not before"
    yield "only a job's first process can read /proc/self: its children and forked jobs see nothing there"
    yield "setting file times seems to work but has no effect"
    yield "disk space in deleted files that are still mapped but no longer open is not counted"
    yield "jobs cannot create sockets, not even on loopback, or write to /tmp and /dev/shm, so multiprocessing fails"
    yield "packages cannot be installed: code can only use environments that already exist"
    if ordinary:
        yield (
            "jobs run with your uid: they may start up to four times the thread limit, and changing file modes has no "
            "effect"
        )
    elif _closed_interpreter():
        yield f"jobs can enter folders that are closed to other users, because {sys.base_prefix} is in one"
    if abi < SCOPES_FROM:
        yield (
            f"Landlock ABI {abi} does not restrict signals, so jobs cannot send any, not even to their own processes "
            "(Linux 6.12 allows this)"
        )


def _closed_interpreter() -> bool:
    try:
        return _closed([Path(sys.base_prefix)])
    except SandboxUnavailableError:
        return False
