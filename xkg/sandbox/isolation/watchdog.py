"""Watches a running job: collects its output, and stops it at its limits on time, memory, processes, disk and output.

Memory usage is read from /proc as resident plus swapped pages, and summed over the job and all its descendants. This
sum counts pages shared by forks more than once. If the sum exceeds the limit, proportional sizes (PSS) are used
instead, which count shared pages once. The watchdog polls every 20 ms, or less often if a poll takes more than 2 ms.
Between two polls, a job can exceed its limit by about 40 MB per core (at 2 GB/s), and by more on a busy machine. Files
in the sandbox's in-memory file systems are not counted, because these have size limits. Kernel memory, such as socket
buffers and page tables, is limited only by the kernel itself and by the limits on processes and open files."""

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from xkg.sandbox.isolation.scratch import disk_usage
from xkg.sandbox.runner import Limits, Outcome

_INTERVAL = 0.02
_FIRST_INTERVAL = 0.005
# If a job prints more than this multiple of the kept size, its output is considered endless. Even a verbose training
# loop prints less than that.
ENDLESS = 64
_COMMAND_LENGTH = 2000

Ended = Literal["exited", "killed", "timeout", "memory", "disk", "output"]


@dataclass(frozen=True)
class Streams:
    """Files for a program's stdin and stdout, if their exact bytes matter. The outcome's `output` then contains only
    stderr."""

    stdin: BinaryIO
    stdout: BinaryIO


@dataclass(frozen=True)
class Watched:
    """The result of watching a job. `stopped` is the limit that the job hit, or None if it exited on its own."""

    stopped: Ended | None
    output: str
    seconds: float
    peak_memory_mb: float

    def outcome(self, exit_code: int, runner: str, command: Sequence[str]) -> Outcome:
        """Returns the outcome of a job that exited with `exit_code` (negative for a signal) or was stopped by a
        limit."""
        signalled = exit_code < 0
        return Outcome(
            ended=self.stopped or ("killed" if signalled else "exited"),
            exit_code=None if self.stopped else 128 - exit_code if signalled else exit_code,
            output=self.output,
            seconds=self.seconds,
            peak_memory_mb=self.peak_memory_mb,
            runner=runner,
            command=shlex.join(command)[:_COMMAND_LENGTH],
        )


def watch(
    process: subprocess.Popen[bytes], limits: Limits, kill: Callable[[], None], scratch: Path | None = None
) -> Watched:
    """Waits for `process` to exit, or stops it with `kill`, which must end the whole job. The process's stderr, or else
    its stdout, must be a pipe that only the caller reads. A job that has more than twice its allowed number of
    processes ends as `killed`. The size of the folder `scratch` counts towards `limits.disk_mb`."""
    pipe = process.stderr or process.stdout
    assert pipe is not None
    pidfd = os.pidfd_open(process.pid)
    try:
        return follow(process.pid, pidfd, pipe.fileno(), limits, scratch)
    finally:
        os.close(pidfd)
        if process.poll() is None:
            kill()
            process.wait()


def follow(
    root: int,
    over: int,
    pipe: int,
    limits: Limits,
    scratch: Path | None = None,
    excluded: frozenset[int] = frozenset(),
) -> Watched:
    """Reads `pipe` and watches `root` and its descendants, except `excluded`, until the job ends (the descriptor `over`
    becomes readable) or hits a limit. The caller must end a job that hits a limit."""
    started = time.monotonic()
    output = Tail(limits.output_kb * 1024)
    endless = limits.output_kb * 1024 * ENDLESS
    peak = 0
    stopped: Ended | None = None
    os.set_blocking(pipe, False)
    with selectors.DefaultSelector() as selector:
        selector.register(over, selectors.EVENT_READ)
        selector.register(pipe, selectors.EVENT_READ)
        interval = _FIRST_INTERVAL
        next_look = started + interval
        ended = False
        while not ended and stopped is None:
            for key, _ in selector.select(max(0.0, next_look - time.monotonic())):
                if key.fd == over:
                    ended = True
                elif not output.read(pipe):
                    selector.unregister(pipe)
            now = time.monotonic()
            if output.total > endless:
                stopped = "output"
            elif ended:
                continue
            elif now - started > limits.seconds:
                stopped = "timeout"
            elif now >= next_look:
                members = [process for process in descendants(root) if process not in excluded]
                memory = memory_of(members, limits.memory_mb << 20)
                peak = max(peak, memory)
                if memory > limits.memory_mb << 20:
                    stopped = "memory"
                elif len(members) > 2 * limits.processes + 8:
                    stopped = "killed"
                elif scratch is not None and disk_usage(scratch, members, limits.disk_mb << 20) > limits.disk_mb << 20:
                    stopped = "disk"
                cost = time.monotonic() - now
                interval = max(min(interval * 1.5, _INTERVAL), 10 * cost)
                next_look = time.monotonic() + interval
    while stopped is None and output.total <= endless and output.read(pipe):
        pass  # output may still be in the pipe
    return Watched(stopped, output.text(), time.monotonic() - started, peak / 2**20)


def descendants(root: int) -> list[int]:
    """Returns `root` and all its descendants, found through the parent pids in /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each entry costs as much as reading it
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                stat = _read(f"/proc/{name}/stat")
                children.setdefault(int(stat.rpartition(b")")[2].split()[1]), []).append(int(name))
    members, at = [root], 0
    while at < len(members):
        members.extend(children.get(members[at], ()))
        at += 1
    return members


def memory_of(processes: list[int], limit: int) -> int:
    """Returns the memory used by `processes`, in bytes. Resident and swapped pages are summed. If the sum exceeds
    `limit`, proportional sizes are summed instead."""
    sizes = {process: _status_bytes(process) for process in processes}
    if sum(sizes.values()) <= limit:
        return sum(sizes.values())
    # Memory is measured twice and the lower value is used, because a process's share of a shared page grows when
    # another process ends.
    return min(sum(min(size, _proportional_bytes(process, size)) for process, size in sizes.items()) for _ in range(2))


def _status_bytes(process: int) -> int:
    try:
        status = _read(f"/proc/{process}/status")
    except OSError:
        return 0
    total = 0
    for line in status.split(b"\n"):
        if line.startswith((b"VmRSS:", b"VmSwap:")):
            total += int(line.split()[1]) << 10
    return total


def _proportional_bytes(process: int, otherwise: int) -> int:
    try:
        rollup = _read(f"/proc/{process}/smaps_rollup")
    except PermissionError:  # if a process hides its proportional size, all of its memory counts
        return otherwise
    except OSError:  # the process has ended in the meantime
        return 0
    return sum(int(line.split()[1]) << 10 for line in rollup.split(b"\n") if line.startswith((b"Pss:", b"SwapPss:")))


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 16384)
    finally:
        os.close(descriptor)


def prefer_for_oom(process: int) -> None:
    """Makes the kernel kill this job first if the machine runs out of memory."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{process}/oom_score_adj").write_text("1000")


def kill_tree(process: int) -> None:
    """Sends SIGKILL to a process, its group and its current descendants."""
    for member in descendants(process):
        with contextlib.suppress(OSError):
            os.kill(member, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.killpg(process, signal.SIGKILL)


class Tail:
    """Keeps the last `size` bytes of a stream, and counts all its bytes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self.total = 0

    def read(self, descriptor: int) -> bool:
        """Reads the available bytes. Returns False at the end of the stream or if nothing is available."""
        try:
            chunk = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return False
        if not chunk:
            return False
        self.total += len(chunk)
        self._chunks.append(chunk)
        self._buffered += len(chunk)
        while self._buffered - len(self._chunks[0]) >= self._size:
            self._buffered -= len(self._chunks.popleft())
        return True

    def text(self) -> str:
        return b"".join(self._chunks)[-self._size :].decode("utf-8", "replace")
