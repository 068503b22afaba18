"""Imports parsers in advance and forks once for each call. This module is the inner half of
`xkg.sandbox.isolation.confined_worker`.

This process never reads a call's input. The fork reads the input after giving up access to files, the network, other
processes and new descriptors. An attacker who takes over the fork gets only processor time, some memory and one socket.
Every call starts from the same state.

The process reads one JSON object from `xkg.sandbox.isolation.confined_worker` on standard input. When ready, the
process writes one line of JSON to the socket `control`. Each incoming message then contains a call's memory limit in
megabytes and two descriptors, the call's socket and its leash. Closing the leash's other end ends the call, whose wait
status is written to the leash. A frame on a call's socket consists of a letter, the length of the data, and the
data."""

import contextlib
import gc
import importlib
import json
import math
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

if sys.platform != "win32":  # Windows has no fork
    import resource

sys.path.insert(0, str(Path(__file__).parents[3]))

from xkg.sandbox.guest import landlock

HEADER = struct.Struct(">cI")
MEMORY = struct.Struct(">I")
# Messages sent to a call: the request, then the bytes for each requested name, or `NOTHING` if there are no bytes.
REQUEST, BYTES, NOTHING = b"R", b"B", b"N"
# Messages sent by a call: a request for bytes, the start of an item, a part of the answer, the last part, or an error.
ASK, MARK, PART, DONE, ERROR = b"A", b"M", b"P", b"D", b"E"

_PR_SET_PDEATHSIG = 1


class Call:
    """A task's interface to the call that runs it."""

    def __init__(self, channel: socket.socket, request: dict[str, Any]) -> None:
        self._channel = channel
        self._step, self._seconds = request["step_seconds"], request["seconds"]
        self.payload = request["payload"]

    def read(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """Yields the bytes for each name, or None for a name without bytes. The caller must consume all items before
        sending the next message."""
        self.send(ASK, json.dumps(list(names)).encode())
        for _ in names:
            yield receive(self._channel)

    def mark(self, name: str) -> None:
        """Announces the next item, which gets `step_seconds` of processor time. The item '' stands for the whole call
        and gets all the remaining time."""
        self.send(MARK, name.encode("utf-8", "surrogatepass"))
        used = resource.getrusage(resource.RUSAGE_SELF)
        step = self._step if name else self._seconds
        most = math.ceil(self._seconds)
        soft = min(most, math.ceil(used.ru_utime + used.ru_stime + step))
        resource.setrlimit(resource.RLIMIT_CPU, (soft, most + 5))

    def part(self, data: bytes) -> None:
        self.send(PART, data)

    def send(self, kind: bytes, data: bytes) -> None:
        send(self._channel, kind, data)


def send(channel: socket.socket, kind: bytes, data: bytes) -> None:
    channel.sendall(HEADER.pack(kind, len(data)))
    channel.sendall(data)


def receive(channel: socket.socket) -> bytes | None:
    """Returns the parent's next message. Raises `EOFError` if the parent closed the socket."""
    kind, length = HEADER.unpack(_exactly(channel, HEADER.size))
    data = _exactly(channel, length)
    return None if kind == NOTHING else bytes(data)


def _exactly(channel: socket.socket, length: int) -> bytearray:
    data = bytearray(length)
    view, at = memoryview(data), 0
    while at < length:
        count = channel.recv_into(view[at:])
        if count == 0:
            raise EOFError
        at += count
    return data


def main() -> None:
    plan = json.load(sys.stdin)
    sys.path[:] = plan["path"]
    control = socket.socket(fileno=plan["control"])
    try:
        tasks: dict[str, Callable[[Call], bytes]] = {}
        for name in plan["modules"]:
            tasks |= importlib.import_module(name).TASKS
        if plan["uid"] is not None:
            landlock.leave_root(plan["uid"], pass_closed_folders=False)
    except Exception as error:
        control.sendall(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        return
    gc.collect()
    gc.freeze()
    control.sendall(b'{"ready": true}\n')
    _serve(control, plan, tasks)


def _serve(control: socket.socket, plan: dict[str, Any], tasks: dict[str, Callable[[Call], bytes]]) -> None:
    """Forks for each message, kills calls whose leash was closed, and exits when the parent process exits."""
    wakeup, wakeup_writer = os.pipe()
    for descriptor in (wakeup, wakeup_writer):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    leashes: dict[int, int] = {}  # maps descriptors to processes
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    waiting.register(wakeup, select.POLLIN)
    while True:
        for descriptor, _ in waiting.poll():
            if descriptor == wakeup:
                with contextlib.suppress(BlockingIOError):
                    os.read(wakeup, 4096)
            elif descriptor == control.fileno():
                message, received, _, _ = socket.recv_fds(control, MEMORY.size, 2)
                if not message:
                    for process in leashes.values():
                        os.kill(process, signal.SIGKILL)
                    os._exit(0)
                process = os.fork()
                if process == 0:
                    _become(received[0], MEMORY.unpack(message)[0], plan, tasks)
                os.close(received[0])
                leashes[received[1]] = process
                waiting.register(received[1], select.POLLIN)
            elif descriptor in leashes:
                os.kill(leashes[descriptor], signal.SIGKILL)
                waiting.unregister(descriptor)
        _reap(leashes, waiting)


def _reap(leashes: dict[int, int], waiting: select.poll) -> None:
    while leashes:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process == 0:
            return
        leash = next(descriptor for descriptor, owner in leashes.items() if owner == process)
        del leashes[leash]
        with contextlib.suppress(KeyError):
            waiting.unregister(leash)
        with contextlib.suppress(OSError):
            os.write(leash, b"%d\n" % status)
        os.close(leash)


def _become(descriptor: int, memory_mb: int, plan: dict[str, Any], tasks: dict[str, Callable[[Call], bytes]]) -> None:
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(descriptor, 3)
        os.closerange(4, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        channel = socket.socket(fileno=3)
        try:
            _confine(plan, memory_mb)
            request = json.loads(receive(channel) or b"")
            call = Call(channel, request)
            call.mark("")
            send(channel, DONE, tasks[request["task"]](call))
        except Exception as error:
            error.__traceback__ = None  # the traceback's frames may contain untrusted data
            kinds = [kind.__name__ for kind in type(error).__mro__]
            send(channel, ERROR, json.dumps({"kinds": kinds, "message": str(error)[:2000]}).encode())
    finally:
        os._exit(0)


def _confine(plan: dict[str, Any], memory_mb: int) -> None:
    """Restricts this process to its memory limit and its single descriptor. Restrictions that the system does not
    support are skipped, but new descriptors are forbidden on every system."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        with open("/proc/self/statm") as file:  # noqa: PTH123
            used = int(file.read().split()[0]) * resource.getpagesize()
        most = used + (memory_mb << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if plan["landlock"]:
        landlock.restrict(plan["landlock"], ())
    for limit in ("CORE", "FSIZE", "NPROC", "NOFILE"):
        resource.setrlimit(getattr(resource, f"RLIMIT_{limit}"), (0, 0))
    if plan["filter"]:
        landlock.filter_calls(bytes.fromhex(plan["filter"]))


if __name__ == "__main__":
    main()
