"""Keeps one job that has no process namespace of its own: waits for it, and lets nothing of it outlive it.

The keeper is the job's parent and adopts what the job orphans (`PR_SET_CHILD_SUBREAPER`). It stands in a Landlock
domain that its own starter is outside of, and the job in one more below: the job cannot signal the keeper, and the
keeper's `kill(-1)` reaches all of the job, in one step that no fork can outrun, and nobody else. Where the kernel does
not scope signals and the uid is shared, the job's processes are found by their parents and stopped before they are
killed.
"""

import contextlib
import ctypes
import os
import select
import signal
from collections.abc import Callable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def keep(become: Callable[[], None], leash: int, *, alone: bool) -> int | None:
    """Forks a child that calls `become`, and waits until it ends or the other end of `leash` is closed. Gives its wait
    status when all that came of it is dead, None in the child after `become`. `alone` says that this process can signal
    nobody but the job: by its Landlock domain, or by a uid of its own."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    alone = alone and not _can_signal(os.getppid())  # or else `kill(-1)` would be a disaster
    heard, told = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    previous = signal.signal(signal.SIGCHLD, lambda *_: None)
    woken = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    child = os.fork()
    if child == 0:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, previous)
        os.close(heard)
        os.close(told)
        become()
        return None
    waiting = select.poll()
    waiting.register(heard, select.POLLIN)
    waiting.register(leash, 0)
    status: int | None = None
    while status is None and not any(descriptor == leash for descriptor, _ in waiting.poll()):
        with contextlib.suppress(BlockingIOError):
            os.read(heard, 4096)
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
            os.read(heard, 4096)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, previous)
    os.close(heard)
    os.close(told)
    return status


_NOBODY = 0


def _reap(options: int) -> dict[int, int]:
    """The wait status of each child that has ended; with `_NOBODY` among them when there are no others."""
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
    """Stops all that descends from `root`, until no more are found, and then kills them."""
    stopped: set[int] = set()
    while found := _below(root) - stopped:
        for process in found:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGSTOP)
        stopped |= found
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
    found = list(children.get(root, ()))
    for process in found:
        found.extend(children.get(process, ()))
    return set(found)
