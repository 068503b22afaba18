"""Supervises a job without a PID namespace. Waits for the job to end, and kills all its processes.

The supervisor is the job's parent and adopts the job's orphans (`PR_SET_CHILD_SUBREAPER`). The supervisor runs in a
Landlock domain that excludes its own parent, and the job runs in a nested domain. The job cannot signal the supervisor.
The supervisor's `kill(-1)` reaches all of the job's processes and no others, atomically, so no fork can escape. If the
kernel does not scope signals and the uid is shared, the job's processes are found through their parents and stopped
before they are killed."""

import contextlib
import ctypes
import os
import select
import signal
from collections.abc import Callable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def keep(become: Callable[[], None], leash: int, *, alone: bool) -> int | None:
    """Forks a child that calls `become`, and waits until the child ends or the other end of `leash` is closed. Returns
    the child's wait status once all its descendants are dead. In the child, returns None after calling `become`.
    `alone` means that this process can signal only the job, because of its Landlock domain or a separate uid."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    alone = alone and not _can_signal(os.getppid())  # otherwise `kill(-1)` would kill unrelated processes
    wakeup, wakeup_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    previous = signal.signal(signal.SIGCHLD, lambda *_: None)
    woken = signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
    child = os.fork()
    if child == 0:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, previous)
        os.close(wakeup)
        os.close(wakeup_writer)
        become()
        return None
    waiting = select.poll()
    waiting.register(wakeup, select.POLLIN)
    waiting.register(leash, 0)
    status: int | None = None
    while status is None and not any(descriptor == leash for descriptor, _ in waiting.poll()):
        with contextlib.suppress(BlockingIOError):
            os.read(wakeup, 4096)
        status = _reap(os.WNOHANG).get(child)
    while True:
        if alone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            _kill_below(os.getpid())
        ended = _reap(os.WNOHANG)
        status = ended.get(child, status)
        if _NOBODY in ended:
            break
        waiting.poll(20)
        with contextlib.suppress(BlockingIOError):
            os.read(wakeup, 4096)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, previous)
    os.close(wakeup)
    os.close(wakeup_writer)
    return status


_NOBODY = 0


def _reap(options: int) -> dict[int, int]:
    """Returns the wait status of each child that has exited, plus `_NOBODY` if there are no other children."""
    ended: dict[int, int] = {}
    while True:
        try:
            process, status = os.waitpid(-1, options)
        except ChildProcessError:
            return ended | {_NOBODY: 0}
        if process == 0:
            return ended
        ended[process] = status


def _can_signal(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _kill_below(root: int) -> None:
    """Stops all descendants of `root` until no more descendants are found, then kills them."""
    stopped: set[int] = set()
    while running := _below(root) - stopped:
        for process in running:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGSTOP)
        stopped |= running
    for process in stopped:
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


def _below(root: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    children.setdefault(int(parent), []).append(int(name))
    processes = list(children.get(root, ()))
    for process in processes:
        processes.extend(children.get(process, ()))
    return set(processes)
