"""The container runner, which uses `podman` or `docker`. This runner is for systems such as macOS that lack the kernel
features needed by bubblewrap and Landlock.

Each job runs in its own container, as nobody, without network access or capabilities. The image is read-only, file
systems are private and in memory, and the engine limits memory and processes. `guest.container` is the first process.
The first process receives the job over standard input, so the only shared host folder is the package folder, which is
read-only."""

import contextlib
import functools
import itertools
import json
import os
import secrets
import shutil
import subprocess
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import BinaryIO

from xkg.errors import SandboxUnavailableError
from xkg.operating_system import is_root
from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.isolation import seccomp
from xkg.sandbox.isolation.bubblewrap_mounts import HOME, NOBODY, PYTHON, QUIET, SITE, Confined, Mount, kernel_limits
from xkg.sandbox.isolation.scratch import relative, require_startable
from xkg.sandbox.isolation.watchdog import ENDLESS, Ended, Tail, Watched
from xkg.sandbox.runner import Job, Limits, Outcome

IMAGE = "xkg-runner"
IMAGE_PYTHON, IMAGE_UV = f"{PYTHON}/bin/python", "/usr/local/bin/uv"
CONTAINERFILE = Path(__file__).parents[1] / "Containerfile"
ENGINES = ("podman", "docker")

_SHARED_MEMORY_MB = 64
_OWN_MB = 64
"""Memory for the first process and the job's interpreter files."""
_OWN_PROCESSES = 1
_FILES, _PROCESSES = 1024, 4096
_STARTING_SECONDS = 60.0
_ENDING_SECONDS = 20.0
_LATEST = 10.0
"""The first process ends a job that is still running this many seconds after its time limit."""
_names = itertools.count()


class ContainerRunner:
    """Confines a job in a container from `image`. Thread-safe.

    Raises `SandboxUnavailableError` if the engine or the image is missing or the engine fails. Raises
    `UnsafeInputError` for a file outside the scratch folder, and `InputError` for arguments that cannot be passed to a
    process."""

    name = "container"

    def __init__(self, image: str = IMAGE) -> None:
        self._image = image

    @property
    def weaker(self) -> tuple[str, ...]:
        notes = ["memory and files in /tmp share one limit"]
        if not _filter():
            notes.append("system calls are filtered only by the engine")
        return tuple(notes)

    def run(self, job: Job) -> Outcome:
        mounts = () if job.site is None else (Mount(job.site.resolve(), SITE),)
        confined = Confined((f"{PYTHON}/bin/python", *job.arguments), job.limits, job.files, mounts)
        return self.confine(confined, command=("python", *job.arguments), packages=bool(mounts))

    def confine(
        self, confined: Confined, command: tuple[str, ...] = (), *, packages: bool = False, user: int = NOBODY
    ) -> Outcome:
        """Runs any command in the image as `user`. Raises the same errors as `run`. `/python/bin/python` is the image's
        interpreter, which sees the packages at `/site` if `packages` is set. The outcome reports `command`, if given,
        instead of the actual command."""
        require_startable(confined.command)
        token = secrets.token_hex(16)
        plan = {
            "token": token,
            "command": confined.command,
            "files": {f"{HOME}/{relative(name)}": text for name, text in confined.files.items()},
            "python": PYTHON,
            "packages": SITE if packages else None,
            "folder": confined.folder,
            "user": user,
            "variables": {**QUIET, **confined.variables},
            "limits": {name: most for name, most in kernel_limits(confined.limits).items() if name != "NPROC"},
            "filter": _filter(unix_sockets=confined.unix_sockets),
            "seconds": confined.limits.seconds + _LATEST,
        }
        name = f"xkg-{os.getpid()}-{next(_names)}-{secrets.token_hex(4)}"
        options = _options(name, confined.limits, confined.mounts)
        arguments = (engine(), "run", *options, self._image, "python3", "-I", "-S", "-c", guest_source("container"))
        # podman leaves a file in the working directory if the kernel kills a job for exceeding its memory limit.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                process = subprocess.Popen(
                    arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
                )
            except OSError as error:
                raise SandboxUnavailableError(f"{engine()} cannot be started ({error})") from error
            with _Running(process, name, token, confined.limits) as running:
                running.send(json.dumps(plan).encode())
                watched, code = running.wait()
        if code is None:
            raise SandboxUnavailableError(_refusal(watched.output, self._image))
        return watched.outcome(code, self.name, command or confined.command)


def _options(name: str, limits: Limits, mounts: tuple[Mount, ...]) -> tuple[str, ...]:
    memory = f"{limits.memory_mb + limits.disk_mb + _SHARED_MEMORY_MB + _OWN_MB}m"
    options = ["--rm", "--interactive", "--name", name, "--hostname", "sandbox", "--pull", "never"]
    options += ["--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only"]
    # The container starts as root, but only with the capabilities that the first process needs to switch users.
    options += ["--user", "0:0", "--cap-add", "SETUID", "--cap-add", "SETGID"]
    options += ["--workdir", "/", "--entrypoint", "", "--log-driver", "none"]
    options += ["--memory", memory, "--memory-swap", memory, "--shm-size", f"{_SHARED_MEMORY_MB}m"]
    # This limit is set explicitly, because the engine's default may exceed the engine's own limit.
    options += ["--ulimit", f"nofile={_FILES}:{_FILES}", "--ulimit", f"nproc={_PROCESSES}:{_PROCESSES}"]
    options += ["--pids-limit", str(limits.processes + _OWN_PROCESSES)]
    options += ["--tmpfs", f"/tmp:rw,exec,nosuid,nodev,mode=1777,size={limits.disk_mb}m"]
    options += ["--tmpfs", f"{PYTHON}:rw,exec,nosuid,nodev,mode=755,size=1m"]
    if Path(engine()).name == "podman":  # otherwise, podman adds in-memory file systems of any size
        options += ["--read-only-tmpfs=false"]
        if mounts:  # otherwise, SELinux would hide folders that are not labelled for containers
            options += ["--security-opt", "label=disable"]
    for mount in mounts:
        options += ["--volume", f"{mount.source}:{mount.at}:{'rw' if mount.writable else 'ro'}"]
    return tuple(options)


class _Running:
    def __init__(self, process: "subprocess.Popen[bytes]", name: str, token: str, limits: Limits) -> None:
        self._process, self._name, self._token, self._limits = process, name, token, limits
        self._output = Tail(limits.output_kb * 1024)
        self._noise: deque[str] = deque(maxlen=20)
        self._started: float | None = None
        self._ended: tuple[int, int, int] | None = None
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "_Running":
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for target, stream in ((self._collect, self._process.stdout), (self._listen, self._process.stderr)):
            thread = threading.Thread(target=target, args=(stream,), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def send(self, plan: bytes) -> None:
        """Sends the plan. Standard input stays open, because it serves as the leash."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(len(plan).to_bytes(8, "big") + plan)
            self._process.stdin.flush()

    def wait(self) -> tuple[Watched, int | None]:
        """Waits for the result and the exit code, which is negative for a signal and None if the command never
        started."""
        began = time.monotonic()
        stopped: Ended | None = None
        with self._changed:
            while self._ended is None and self._threads[1].is_alive():
                limit = began + _STARTING_SECONDS if self._started is None else self._started + self._limits.seconds
                if self._output.total > self._limits.output_kb * 1024 * ENDLESS:
                    stopped = "output"
                elif time.monotonic() > limit:
                    stopped = "timeout"
                if stopped:
                    break
                self._changed.wait(min(0.1, max(0.001, limit - time.monotonic())))
            seconds = time.monotonic() - (self._started or began)
        self._end()
        if self._started is None:
            return Watched(None, "\n".join(self._noise), seconds, 0.0), None
        status, peak, killed = self._ended or (9, 0, 0)
        if stopped is None and (killed or self._ended is None):
            stopped = "memory"  # the kernel killed the first process too
        if stopped is None and self._output.total > self._limits.output_kb * 1024 * ENDLESS:
            stopped = "output"
        return Watched(stopped, self._output.text(), seconds, peak / 2**20), _exit_code(status)

    def _end(self) -> None:
        if self._process.poll() is None:
            if self._ended is None:
                _ask_engine("kill", self._name)
            try:
                self._process.wait(_ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                _ask_engine("rm", "--force", self._name)
                self._process.kill()
                self._process.wait()
        for thread in self._threads:
            thread.join(_ENDING_SECONDS)

    def _collect(self, stream: BinaryIO) -> None:
        with contextlib.suppress(OSError, ValueError):
            while self._output.read(stream.fileno()):
                pass

    def _listen(self, stream: BinaryIO) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                words = line.decode("utf-8", "replace").split()
                with self._changed:
                    if words[:1] != [self._token]:
                        self._noise.append(" ".join(words)[:500])
                    elif words[1:] == ["started"]:
                        self._started = time.monotonic()
                    else:
                        status, peak, killed = map(int, words[1:])
                        self._ended = status, peak, killed
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()


def _exit_code(status: int) -> int:
    """Decodes a Linux wait status, on any system."""
    return -(status & 0x7F) if status & 0x7F else status >> 8


def engine() -> str:
    """The container engine's executable. Raises `SandboxUnavailableError` if no engine is installed."""
    for name in ENGINES:
        if (program := shutil.which(name)) is not None:
            return program
    raise SandboxUnavailableError("no container engine is installed; install podman or docker")


def _ask_engine(*arguments: str) -> None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            (engine(), *arguments), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_ENDING_SECONDS
        )


@functools.cache
def _filter(*, unix_sockets: bool = False) -> str:
    """The system call filter as hex; empty if this machine cannot build one for a Linux kernel."""
    try:
        return seccomp.program(unix_sockets=unix_sockets).hex()
    except SandboxUnavailableError:
        return ""


def _refusal(output: str, image: str) -> str:
    message = next((line for line in reversed(output.splitlines()) if line.strip()), "no reason given")[:200]
    if "image" in message.lower():
        build = f"{Path(engine()).name} build -t {image} -f {CONTAINERFILE} {CONTAINERFILE.parent}"
        return f"the image {image} for running code does not exist ({message}); build it with `{build}`"
    return f"{Path(engine()).name} cannot sandbox code on this machine: {message}"


def owner_in_container(keeper: int | None) -> int:
    """The uid that may write to this user's folders in a container. Root's folders are transferred to `keeper`. If an
    ordinary user starts podman, podman maps that user to root."""
    if is_root():
        return NOBODY if keeper is None else keeper
    return 0 if Path(engine()).name == "podman" or not hasattr(os, "getuid") else os.getuid()
