"""Removes rights from a process and its descendants. With Landlock, a process irrevocably gives up access to files, TCP
and signals.

The system calls, the access rights and the changes in each ABI version are documented at
<https://docs.kernel.org/userspace-api/landlock.html>."""

import contextlib
import ctypes
import os
import stat
import sys
from collections.abc import Iterable, Mapping

if sys.platform != "win32":  # on Windows this module only reports that Landlock is missing
    import resource

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
READ = READ_FILE | READ_DIR
RUN = READ | EXECUTE
EVERYTHING = (1 << 16) - 1

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 8, 38, 47
_CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION_3 = 0x20080522
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_TCP, _CONNECT_TCP, _SCOPES = 0b11, 0b10, 0b11

SCOPES_FROM = 6


class _NetPort(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """Returns the kernel's Landlock ABI version, or 0 if there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def restrict(abi: int, paths: Iterable[tuple[str, int]] | None, port: int | None = None) -> None:
    """Restricts this process to `paths`, which lists each path with the access rights to it and everything below.
    Missing paths are skipped. From ABI 4, TCP connections are restricted to `port`. From ABI 6, abstract sockets and
    signals are restricted to the process's own descendants. If `paths` is None, files and TCP stay unrestricted. With
    any ABI, processes outside the domain cannot be traced or inspected. Raises `OSError` if the kernel refuses the
    restriction."""
    libc = ctypes.CDLL(None, use_errno=True)

    def called(result: int) -> int:
        if result < 0:
            raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
        return result

    tcp = _TCP if abi >= 4 and paths is not None else 0
    if paths is None:  # a ruleset without this right denies moves between folders
        handled, paths = REFER, [("/", REFER)]
    else:
        handled = (1 << _FILE_RIGHTS.get(abi, 16)) - 1
    attributes = (ctypes.c_uint64 * 3)(handled, tcp, _SCOPES if abi >= SCOPES_FROM else 0)
    size = 8 if abi < 4 else 16 if abi < SCOPES_FROM else 24
    called(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    ruleset = called(libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    try:
        if tcp and port is not None:
            allowed_port = _NetPort(_CONNECT_TCP, port)
            called(libc.syscall(_ADD_RULE, ruleset, 2, ctypes.byref(allowed_port), ctypes.c_uint32(0)))
        for place, rights in paths:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                parent = os.open(place, os.O_PATH | os.O_CLOEXEC)
                try:
                    folder = stat.S_ISDIR(os.fstat(parent).st_mode)
                    allowed = rights & handled & (EVERYTHING if folder else _ON_FILES)
                    rule = _PathBeneath(allowed, parent)
                    called(libc.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), ctypes.c_uint32(0)))
                finally:
                    os.close(parent)
        called(libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)


def leave_root(uid: int, *, pass_closed_folders: bool) -> None:
    """Switches to `uid` with no capabilities, or with only the capability to enter folders that are closed to `uid`."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    if pass_closed_folders:
        libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setresuid(uid, uid, uid)
    capabilities = 1 << _CAP_DAC_READ_SEARCH if pass_closed_folders else 0
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)(capabilities, capabilities, capabilities, 0, 0, 0)) != 0:
        raise OSError(ctypes.get_errno(), "cannot drop capabilities")
    if pass_closed_folders and libc.prctl(_PR_CAP_AMBIENT, 2, _CAP_DAC_READ_SEARCH, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot retain the right to enter closed folders")


def set_limits(limits: Mapping[str, int]) -> None:
    """Sets resource limits by name, except those that this system lacks. If the existing hard limit is lower, it is
    kept."""
    for name, most in limits.items():
        if (kind := getattr(resource, f"RLIMIT_{name}", None)) is not None:
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))


def filter_calls(program: bytes) -> None:
    """Loads a seccomp BPF program for this process and its children. Raises `OSError` if the kernel refuses the
    program."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    libc = ctypes.CDLL(None, use_errno=True)
    loaded = Program(len(program) // 8, program)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(loaded), 0, 0):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
