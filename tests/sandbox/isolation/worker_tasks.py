"""Defines attacks that a compromised worker might try. `tests.sandbox.isolation.test_confined_worker` runs each task in
a confined call."""

import ctypes
import errno
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping

from xkg.errors import UnsafeInputError
from xkg.sandbox.guest.worker import ASK, DONE, ERROR, HEADER, Call


def _echo(call: Call) -> bytes:
    names = call.payload["names"]
    call.mark("reading")
    found = list(call.read(names)) if names else []
    for content in found:
        call.part(b"none" if content is None else content)
    return json.dumps([len(content or b"") for content in found]).encode()


def _spin(call: Call) -> bytes:
    call.mark("spinning")
    while True:
        pass


def _sleep(call: Call) -> bytes:
    call.mark("sleeping")
    time.sleep(600)
    return b""


def _steps(call: Call) -> bytes:
    """Runs several steps. Each step stays under the limit for steps, but their total does not."""
    for step in range(3):
        call.mark(f"step {step}")
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
    return b"done"


def _hoard(call: Call) -> bytes:
    call.mark("hoarding")
    held = [bytearray(16 << 20) for _ in range(1000)]
    return str(len(held)).encode()


def _crash(call: Call) -> bytes:
    call.mark("crashing")
    ctypes.string_at(0)
    return b""


def _hang_up(call: Call) -> bytes:
    call.mark("leaving")
    os._exit(0)


def _flood(call: Call) -> bytes:
    call.mark("flooding")
    while True:
        call.part(b"x" * (1 << 20))


def _marks(call: Call) -> bytes:
    while True:
        call.mark("again and again")


def _huge(call: Call) -> bytes:
    call.mark("boasting")
    call.send(HEADER.pack(DONE, 0xFFFFFFFF), b"")
    os.write(3, HEADER.pack(DONE, 0xFFFFFFFF) + b"x" * 1000)
    time.sleep(600)
    return b""


def _nonsense(call: Call) -> bytes:
    call.mark("lying")
    call.send(b"?", b"what")
    return b""


def _half(_: Call) -> bytes:
    os.write(3, HEADER.pack(DONE, 1000) + b"half")
    os._exit(0)


def _odd_error(call: Call) -> bytes:
    call.send(ERROR, b'{"kinds": ' + b"[" * 20_00 + b"}")
    return b""


def _odd_ask(call: Call) -> bytes:
    call.send(ASK, b'{"name": 1}')
    return b""


def _refuse(_: Call) -> bytes:
    raise UnsafeInputError("it is too large\x1b[31m\nand red")


def _break(call: Call) -> bytes:
    call.mark("working")
    raise KeyError("nothing there")


def _environment(_: Call) -> bytes:
    return json.dumps([dict(os.environ), os.getpid(), os.getuid()]).encode()


def _tries(call: Call) -> bytes:
    """Returns the result of each attempt, or the name of its error. If names of attempts are given, only those attempts
    run."""
    attempts: dict[str, Callable[[], object]] = {
        "read a file": lambda: open("/etc/passwd").read(),  # noqa: PTH123, SIM115
        "read its own code": lambda: open(__file__).read(),  # noqa: PTH123, SIM115
        "write a file": lambda: open("/tmp/xkg-worker-was-here", "w"),  # noqa: PTH123, SIM115
        "list a folder": lambda: os.listdir("/"),  # noqa: PTH208
        "look at a file": lambda: os.stat("/etc/passwd"),  # noqa: PTH116
        "make a folder": lambda: os.mkdir("/tmp/xkg-worker-was-here"),  # noqa: PTH102
        "connect": lambda: socket.create_connection(("127.0.0.1", 9), timeout=2),
        "make a socket": socket.socketpair,
        "fork": os.fork,
        "run a program": lambda: os.execv("/bin/true", ["true"]),
        "signal its parent": lambda: os.kill(os.getppid(), signal.SIGTERM),
        "signal all": lambda: os.kill(-1, signal.SIGTERM),
        "raise its memory": lambda: _more_memory(),
        "become root": lambda: os.setuid(0),
        "copy a descriptor": lambda: os.dup(0),
        "import": lambda: __import__("xml.dom.expatbuilder"),
    }
    found = {}
    for name in call.payload or attempts:
        attempt = attempts[name]
        try:
            found[name] = f"done: {attempt()!r}"[:100]
        except BaseException as error:
            found[name] = type(error).__name__
    return json.dumps([found, sorted(_open())]).encode()


def _more_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _open() -> list[int]:
    found = []
    for descriptor in range(256):
        try:
            os.lseek(descriptor, 0, os.SEEK_CUR)
        except OSError as error:
            if error.errno == errno.EBADF:
                continue
        found.append(descriptor)
    return found


def _remember(call: Call) -> bytes:
    """Returns the data that an earlier call left in this process's memory."""
    before = getattr(sys, "left_behind", "nothing")
    sys.left_behind = call.payload  # type: ignore[attr-defined]
    return json.dumps(before).encode()


TASKS: Mapping[str, Callable[[Call], bytes]] = {
    "echo": _echo,
    "spin": _spin,
    "sleep": _sleep,
    "steps": _steps,
    "hoard": _hoard,
    "crash": _crash,
    "hang-up": _hang_up,
    "flood": _flood,
    "marks": _marks,
    "huge": _huge,
    "nonsense": _nonsense,
    "half": _half,
    "odd-error": _odd_error,
    "odd-ask": _odd_ask,
    "refuse": _refuse,
    "break": _break,
    "environment": _environment,
    "tries": _tries,
    "remember": _remember,
}
