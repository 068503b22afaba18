"""Imports modules in advance and forks once for each job. This module is the sandboxed half of
`xkg.sandbox.isolation.fork_server`.

This process already runs in a sandbox. Each job is a fork in its own Landlock domain, nested in this process's domain.
A job cannot signal, trace or inspect this process, and has its own limits, output and session. When a job ends, its
descendants are killed and the scratch folders are emptied, so that every job starts from the same state. The job is
read only by the fork, never by this process.

The process communicates over the socket given by its first argument. The process first sends `ready` if jobs can be
forked, and otherwise exits. Each incoming message then contains three descriptors: a job as JSON, the job's output, and
a leash. Closing the leash's other end ends the job. Each reply contains the job's wait status and whether the scratch
folders are empty again."""

import builtins
import contextlib
import gc
import importlib
import json
import os
import random
import resource
import socket
import stat
import sys
import types
from importlib.machinery import BuiltinImporter, SourceFileLoader
from pathlib import Path
from typing import Any

from xkg.sandbox.guest import landlock
from xkg.sandbox.guest.supervisor import keep


def main() -> None:
    """Serves jobs. The command-line arguments are the socket's descriptor, the Landlock ABI, the modules as JSON, and
    the scratch folders, starting with the job's home. Returns only in a fork, after the fork has finished its job."""
    number, abi, modules, *places = sys.argv[1:]
    sys.path[0] = ""
    landlock.restrict(int(abi), None)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, int(number))
    control.set_inheritable(False)
    for name in json.loads(modules):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    fit = _fit() and _emptied(places)
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    if fit:
        control.send(b"ready")
    while fit:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 3)
        if not message or len(descriptors) != 3:
            break
        job, output, leash = descriptors

        def become(job: int = job, output: int = output) -> None:
            control.detach()
            arguments = _become(json.loads(_read(job)), output, int(abi), places[0])
            _run(arguments)

        status = keep(become, leash, alone=True)
        if status is None:
            return
        for descriptor in descriptors:
            os.close(descriptor)
        clean = _emptied(places)
        control.send(f"{status} {int(clean)}".encode())
        if not clean:
            break
    os._exit(0)


def _fit() -> bool:
    """Returns whether forks of this process start from a clean state. Forking a multithreaded process can hang."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        return False  # an imported module started a process
    shared = any({"w", "s"} <= {*line.split()[1]} for line in Path("/proc/self/maps").read_text().splitlines())
    return len(os.listdir("/proc/self/task")) == 1 and not shared  # noqa: PTH208


def _become(job: dict[str, Any], output: int, abi: int, home: str) -> list[str]:
    """Sets the fork's limits, output and Landlock domain. Returns the arguments to run as `python` would. Nothing else
    is returned, because the job's files may contain data that the code must not see."""
    os.setsid()
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    os.chdir(home)
    for name, content in job["files"].items():
        place = Path(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode("utf-8", "surrogatepass"))
    landlock.set_limits(job["limits"])
    landlock.restrict(abi, None)
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    for name in [name for name in sys.modules if name == "xkg" or name.startswith("xkg.")]:
        del sys.modules[name]
    return list(job["arguments"])


def _run(arguments: list[str]) -> None:
    module = types.ModuleType("__main__")
    vars(module)["__builtins__"] = builtins
    if arguments[0] == "-c":
        name, source = "<string>", arguments[1].encode("utf-8", "surrogatepass")
        sys.argv = ["-c", *arguments[2:]]
        module.__loader__ = BuiltinImporter
    else:
        name = os.path.abspath(arguments[0])  # noqa: PTH100
        source = Path(name).read_bytes()
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.realpath(name))  # noqa: PTH120
        module.__file__ = name
        module.__loader__ = SourceFileLoader("__main__", name)
    sys.modules["__main__"] = module
    importlib.invalidate_caches()
    try:
        exec(compile(source, name, "exec", dont_inherit=True), vars(module))
    except SystemExit:
        raise
    except BaseException as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def _read(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read()


def _emptied(places: list[str]) -> bool:
    """Empties folders of any depth, regardless of permissions, and recreates the first folder. Returns whether all
    folders are empty."""
    try:
        for place in sorted(places, key=len):
            if Path(place).exists():
                _empty(place)
        Path(places[0]).mkdir(mode=0o777, exist_ok=True)
        return not any(set(os.listdir(place)) - {Path(places[0]).name} for place in places)  # noqa: PTH208
    except OSError:
        return False


def _empty(folder: str) -> None:
    """Moves inner folders up before removing their parent, because a path may be too long to open."""
    if os.stat(folder).st_uid == os.geteuid():  # noqa: PTH116
        os.chmod(folder, 0o777)  # noqa: PTH101
        for name in os.listxattr(folder):
            os.removexattr(folder, name)
    moved = 0
    unused = f"{folder}/{os.urandom(16).hex()}"
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)  # noqa: PTH108
                continue
            _open_up(entry)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    _open_up(inner)
                    moved += 1
                    os.rename(inner.path, f"{unused}{moved}")  # noqa: PTH104
                else:
                    os.unlink(inner.path)  # noqa: PTH108
            os.rmdir(entry.path)  # noqa: PTH106


def _open_up(folder: "os.DirEntry[str]") -> None:
    if stat.S_IMODE(folder.stat(follow_symlinks=False).st_mode) & 0o700 != 0o700:
        os.chmod(folder.path, 0o700)  # noqa: PTH101
