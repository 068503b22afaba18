"""Operations that differ between Linux, macOS and Windows, such as inter-process locks, file owners, folder syncs,
process groups and limits on open files. Outside the sandbox, no other module imports platform-specific modules.

On Windows, a lock covers one byte far beyond the end of the file, because locked bytes cannot be read."""

import contextlib
import ctypes
import errno
import os
import signal
import subprocess
import sys
from typing import Any

if sys.platform != "win32":
    import fcntl
    import resource

FOLDER = getattr(os, "O_DIRECTORY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAITING = getattr(os, "O_NONBLOCK", 0)
CLOSED_IN_CHILDREN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
BYTES = getattr(os, "O_BINARY", 0)
"""Flags for `os.open`, or 0 for flags that the system does not support."""

OPEN_FILES_MOVE = sys.platform != "win32"
"""Whether open files can be renamed or removed, and their folders moved."""

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)

_FAR = 1 << 40
_FAIL_AT_ONCE, _EXCLUSIVE = 1, 2
_LOCK_HELD = 33
_STILL_ACTIVE = 259
_QUERY_LIMITED = 0x1000

_ARENA_MAX = -8  # M_ARENA_MAX in malloc.h


def lock(descriptor: int, *, shared: bool, wait: bool) -> bool:
    """Locks an open file until all processes that inherited it have closed it. Returns False if another process holds
    the lock and `wait` is not set. Raises `OSError`."""
    if sys.platform == "win32":
        return _lock_by_handle(descriptor, shared=shared, wait=wait)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def sync_folder(folder: str) -> None:
    """Syncs renames and new files in `folder` to disk, so that they survive a power cut. Does nothing on Windows, which
    cannot sync folders."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | FOLDER)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def owned_by_another(status: os.stat_result) -> bool:
    """Returns whether a file belongs to neither this user nor root. Always False on Windows, where `stat` does not
    report owners and user folders are private by default."""
    return hasattr(os, "geteuid") and status.st_uid not in (0, os.geteuid())


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def runs(process: int) -> bool:
    """Returns whether a process with this id exists. (On Windows, `os.kill(process, 0)` would end the process.)"""
    if sys.platform == "win32":
        return _runs_by_handle(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def signal_group(process: int, number: int) -> None:
    """Sends a signal to the group that `process` leads; on Windows, ends the process and its descendants. Does nothing
    if there is no such group or it belongs to another user. Also does nothing if `process` is at most 1, because
    signalling group 1 reaches every process."""
    if process <= 1:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process, number)
        return
    subprocess.run(("taskkill", "/F", "/T", "/PID", str(process)), capture_output=True, check=False)


def yield_processor(process: int, niceness: int) -> None:
    """Sets the niceness of a process, if the system supports it."""
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process, niceness)


def files_allowed(wanted: int) -> int | None:
    """Raises the limit on open files to `wanted`, as far as the system allows. Returns the new limit, or None if there
    is no limit."""
    if sys.platform == "win32":
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return None if soft == resource.RLIM_INFINITY else soft


def share_one_heap() -> None:
    """Makes all threads in this process share one heap, if it uses glibc. By default, each thread has its own heap,
    which never shrinks."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # raised if the C library is not glibc
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Overlapped(ctypes.Structure):
    """<https://learn.microsoft.com/en-us/windows/win32/api/minwinbase/ns-minwinbase-overlapped>"""

    _fields_ = (
        ("internal", ctypes.c_void_p),
        ("internal_high", ctypes.c_void_p),
        ("offset", ctypes.c_uint32),
        ("offset_high", ctypes.c_uint32),
        ("event", ctypes.c_void_p),
    )


def _lock_by_handle(descriptor: int, *, shared: bool, wait: bool) -> bool:
    """<https://learn.microsoft.com/en-us/windows/win32/api/fileapi/nf-fileapi-lockfileex>"""
    import msvcrt

    handles: Any = msvcrt
    kernel = _kernel()
    place = _Overlapped(offset=_FAR & 0xFFFFFFFF, offset_high=_FAR >> 32)
    flags = (0 if shared else _EXCLUSIVE) | (0 if wait else _FAIL_AT_ONCE)
    handle = ctypes.c_void_p(handles.get_osfhandle(descriptor))
    if kernel.LockFileEx(handle, flags, 0, 1, 0, ctypes.byref(place)):
        return True
    code = kernel.GetLastError()
    if not wait and code == _LOCK_HELD:
        return False
    raise OSError(errno.EACCES, f"the file cannot be locked (Windows error {code})")


def _runs_by_handle(process: int) -> bool:
    kernel = _kernel()
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = kernel.OpenProcess(_QUERY_LIMITED, 0, process)
    if not handle:
        return False
    code = ctypes.c_uint32()
    try:
        return bool(kernel.GetExitCodeProcess(ctypes.c_void_p(handle), ctypes.byref(code))) and (
            code.value == _STILL_ACTIVE
        )
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))


def _kernel() -> Any:
    library: Any = ctypes
    return library.WinDLL("kernel32", use_last_error=False)
