"""Runs as the first process in a container created by `xkg.sandbox.isolation.container`. This script uses only the
standard library and `guest.landlock`. The process runs one command as a separate, unprivileged user and reports how the
command ended. When this process exits, anything that the command left running is killed as well.

Standard input contains the length of a JSON object (8 bytes, big-endian), followed by the object. Afterwards, standard
input serves as a leash: the process exits when standard input is closed. The process writes `TOKEN started` to stderr,
and finally `TOKEN STATUS PEAK OOM`. `STATUS` is the wait status, `PEAK` the peak memory in bytes, and `OOM` the number
of processes killed by the kernel for lack of memory. The job can neither write to stderr nor read the token, because it
cannot inspect this process."""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn

from xkg.sandbox.guest.landlock import filter_calls, leave_root, set_limits

_PR_SET_DUMPABLE = 4
_INTERVAL = 0.05
_CGROUP = "/sys/fs/cgroup"
# The files of cgroup version 2 come first, then those of version 1.
_PEAKS = (f"{_CGROUP}/memory.peak", f"{_CGROUP}/memory/memory.max_usage_in_bytes")
_EVENTS = (f"{_CGROUP}/memory.events", f"{_CGROUP}/memory/memory.oom_control")


def main() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    plan = json.loads(_read(int.from_bytes(_read(8), "big")))
    token, answers = plan["token"], os.dup(2)
    os.set_inheritable(answers, False)
    os.dup2(1, 2)

    def say(*words: object) -> None:
        os.write(answers, (" ".join(map(str, (token, *words))) + "\n").encode())

    for place, text in plan["files"].items():
        os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
        with open(place, "wb") as file:  # noqa: PTH123
            file.write(text.encode("utf-8", "surrogatepass"))
        os.chmod(place, 0o666)  # noqa: PTH101
    if plan["python"]:
        _make_python(plan["python"], plan["packages"])
    os.makedirs(plan["folder"], exist_ok=True)  # noqa: PTH103
    for folder, _, _ in os.walk(plan["folder"]):
        os.chmod(folder, 0o777)  # noqa: PTH101
    say("started")
    wakeup, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    child = os.fork()
    if child == 0:
        os.close(answers)
        _become(plan)
    status = _watched(child, wakeup, time.monotonic() + plan["seconds"])
    say(status, _peak(), _killed_for_memory())
    os._exit(0)


def _watched(child: int, wakeup: int, until: float) -> int:
    """Returns the command's wait status, or SIGKILL if it had to be killed."""
    waiting = select.poll()
    waiting.register(wakeup, select.POLLIN)
    waiting.register(0, select.POLLIN)
    while time.monotonic() < until and not _killed_for_memory():
        for descriptor, _ in waiting.poll(1000 * _INTERVAL):
            if descriptor == 0:  # no data is sent after the plan
                return signal.SIGKILL
            with contextlib.suppress(BlockingIOError):
                os.read(wakeup, 4096)
        while True:  # this loop also reaps the job's other processes
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == child:
                return status
            if process == 0:
                break
    return signal.SIGKILL


def _make_python(folder: str, packages: str | None) -> None:
    """Creates an environment for the image's interpreter with `packages` on its path, but without the image's own
    packages. Packages cannot run code before they are imported."""
    inside = f"{folder}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    os.makedirs(inside)  # noqa: PTH103
    os.makedirs(f"{folder}/bin")  # noqa: PTH103
    real = os.path.realpath(sys.executable)
    os.symlink(real, f"{folder}/bin/python")  # noqa: PTH211
    home = f"home = {os.path.dirname(real)}\ninclude-system-site-packages = false\n"  # noqa: PTH120
    paths = f"{packages}\n" if packages else ""
    for name, text in (("packages.pth", paths), ("sitecustomize.py", ""), ("usercustomize.py", "")):
        with open(f"{inside}/{name}", "w") as file:  # noqa: PTH123
            file.write(text)
    with open(f"{folder}/pyvenv.cfg", "w") as file:  # noqa: PTH123
        file.write(home)


def _become(plan: dict[str, Any]) -> NoReturn:
    try:
        os.setsid()
        nothing = os.open("/dev/null", os.O_RDONLY)
        os.dup2(nothing, 0)
        os.closerange(3, 1024)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
            file.write("1000")
        os.chdir(plan["folder"])
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        set_limits(plan["limits"])
        leave_root(plan["user"], pass_closed_folders=False)
        if plan["filter"]:
            filter_calls(bytes.fromhex(plan["filter"]))
        os.execve(plan["command"][0], plan["command"], plan["variables"])
    except BaseException as error:
        os.write(1, f"the command cannot be started: {error}\n".encode())
    os._exit(127)


def _killed_for_memory() -> int:
    for name in _EVENTS:
        with contextlib.suppress(OSError, ValueError), open(name) as file:  # noqa: PTH123
            return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), 0)
    return 0


def _peak() -> int:
    for name in _PEAKS:
        with contextlib.suppress(OSError, ValueError), open(name) as file:  # noqa: PTH123
            return int(file.read())
    return 0


def _read(count: int) -> bytes:
    parts = []
    while count > 0:
        part = os.read(0, min(count, 1 << 20))
        if not part:
            os._exit(1)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
