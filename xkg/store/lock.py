"""Who may write, and who still reads: advisory locks that the system drops when a process dies."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from xkg.errors import StoreBusyError


@contextlib.contextmanager
def writing(folder: Path, wait: float) -> Iterator[None]:
    """Holds the one write lock of a graph. Waits up to `wait` seconds, then raises `StoreBusyError`."""
    path = folder / "write.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        deadline = time.monotonic() + wait
        while not _try(descriptor, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
                raise StoreBusyError(
                    f"another process (pid {holder}) is writing to {folder} and did not finish within {wait:g} s: "
                    "nothing was changed, try again when it is done"
                )
            time.sleep(0.02)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def alone(path: Path, *, wait: bool) -> Iterator[bool]:
    """Holds a lock file of any name, and says whether it could be had: always, in time, for who waits."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if wait:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield wait or _try(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


def hold(descriptor: int) -> bool:
    """Marks an open file as being read, until it is closed; False where it is being cleaned up."""
    return _try(descriptor, fcntl.LOCK_SH)


@contextlib.contextmanager
def unheld(path: Path) -> Iterator[bool]:
    """Whether nobody reads `path`; while the context lasts nobody can begin to."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield True
        return
    try:
        yield _try(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
