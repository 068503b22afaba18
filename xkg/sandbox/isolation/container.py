"""Runs jobs in containers with `podman` or `docker`. This runner is for systems such as macOS that lack the kernel
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
import select
import shutil
import subprocess
import tempfile
import time
from collections import deque
from pathlib import Path

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
"""Memory in MB for the first process and the files of the job's interpreter."""
_OWN_PROCESSES = 1
_FILES, _PROCESSES = 1024, 4096
_STARTING_SECONDS = 60.0
_ENDING_SECONDS = 20.0
_LATEST = 10.0
"""The first process ends a job that is still running this many seconds after its time limit."""
_START = """
import sys, types
for name, source in modules.items():
    sys.modules[name] = types.ModuleType(name)
    exec(source, vars(sys.modules[name]))
sys.modules["xkg.sandbox.guest.container"].main()
"""
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
        return self.confine(confined, command=("python", *job.arguments))

    def confine(self, confined: Confined, command: tuple[str, ...] = (), *, user: int = NOBODY) -> Outcome:
        """Runs any command in the image as `user`. Raises the same errors as `run`. `/python/bin/python` is the image's
        interpreter, which sees the packages mounted at `/site`. The outcome reports `command`, if given, instead of the
        actual command."""
        require_startable(confined.command)
        token = secrets.token_hex(16)
        plan = {
            "token": token,
            "command": confined.command,
            "files": {f"{HOME}/{relative(name)}": text for name, text in confined.files.items()},
            "python": PYTHON,
            "packages": next((mount.at for mount in confined.mounts if mount.at == SITE), None),
            "folder": confined.folder,
            "user": user,
            "variables": {**QUIET, **confined.variables},
            "limits": {name: most for name, most in kernel_limits(confined.limits).items() if name != "NPROC"},
            "filter": _filter(unix_sockets=confined.unix_sockets),
            "seconds": confined.limits.seconds + _LATEST,
        }
        name = f"xkg-{os.getpid()}-{next(_names)}-{secrets.token_hex(4)}"
        options = _options(name, confined.limits, confined.mounts)
        arguments = (engine(), "run", *options, self._image, "python3", "-I", "-S", "-c", _first_process())
        # podman leaves a file in the working directory if the kernel kills a job for exceeding its memory limit.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                process = subprocess.Popen(
                    arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
                )
            except OSError as error:
                raise SandboxUnavailableError(f"{engine()} cannot be started ({error})") from error
            is_over = False
            with process:
                try:
                    _send(process, json.dumps(plan).encode())
                    watched, code = _followed(process, token, confined.limits)
                    is_over = watched.stopped in (None, "memory")
                finally:
                    _end(process, name, is_over=is_over)
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
    # These limits are set explicitly, because the engine's defaults may exceed the limits that apply to the engine
    # itself.
    options += ["--ulimit", f"nofile={_FILES}:{_FILES}", "--ulimit", f"nproc={_PROCESSES}:{_PROCESSES}"]
    options += ["--pids-limit", str(limits.processes + _OWN_PROCESSES)]
    options += ["--tmpfs", f"/tmp:rw,exec,nosuid,nodev,mode=1777,size={limits.disk_mb}m"]
    options += ["--tmpfs", f"{PYTHON}:rw,exec,nosuid,nodev,mode=755,size=1m"]
    if Path(engine()).name == "podman":  # without this option, podman adds in-memory file systems of any size
        options += ["--read-only-tmpfs=false"]
        if mounts:  # without this option, SELinux would hide folders that are not labelled for containers
            options += ["--security-opt", "label=disable"]
    for mount in mounts:
        options += ["--volume", f"{mount.source}:{mount.at}:{'rw' if mount.writable else 'ro'}"]
    return tuple(options)


def _first_process() -> str:
    modules = {f"xkg.sandbox.guest.{name}": guest_source(name) for name in ("landlock", "container")}
    return f"modules = {modules!r}{_START}"


def _send(process: "subprocess.Popen[bytes]", plan: bytes) -> None:
    """Sends the plan. Standard input stays open, because it serves as the leash."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(len(plan).to_bytes(8, "big") + plan)
        process.stdin.flush()


def _followed(process: "subprocess.Popen[bytes]", token: str, limits: Limits) -> tuple[Watched, int | None]:
    """Waits for the result and the exit code, which is negative for a signal and None if the command never started."""
    assert process.stdout is not None
    assert process.stderr is not None
    stdout, stderr = process.stdout.fileno(), process.stderr.fileno()
    output, noise, line = Tail(limits.output_kb * 1024), deque[str](maxlen=20), b""
    now = begun = time.monotonic()
    until, is_started = begun + _STARTING_SECONDS, False
    report: tuple[int, int, int] | None = None
    stopped: Ended | None = None
    streams = {stdout, stderr}
    while streams and stopped is None:
        ready = select.select(list(streams), [], [], 0.1)[0]
        if not ready and (process.poll() is not None or (report and time.monotonic() > until)):
            break
        now = now if report else time.monotonic()
        if stdout in ready and not output.read(stdout):
            streams.remove(stdout)
        if stderr in ready:
            data = os.read(stderr, 1 << 16)
            streams -= set() if data else {stderr}
            *lines, line = (line + data).split(b"\n")
            for words in (each.decode("utf-8", "replace").split() for each in lines):
                if words[:1] != [token]:
                    noise.append(" ".join(words)[:500])
                elif words[1:] == ["started"]:
                    begun, until, is_started = now, now + limits.seconds, True
                else:
                    status, peak, killed = map(int, words[1:])
                    report, until = (status, peak, killed), now + _ENDING_SECONDS
        if output.total > limits.output_kb * 1024 * ENDLESS:
            stopped = "output"
        elif report is None and now > until:
            stopped = "timeout"
    if not is_started:
        return Watched(None, "\n".join(noise), now - begun, 0.0), None
    status, peak, killed = report or (9, 0, 0)
    if stopped is None and (killed or report is None):
        stopped = "memory"  # the kernel killed the first process too
    return Watched(stopped, output.text(), now - begun, peak / 2**20), _exit_code(status)


def _end(process: "subprocess.Popen[bytes]", name: str, *, is_over: bool) -> None:
    assert process.stdout is not None
    if process.poll() is None and not is_over:
        process.stdout.close()  # an open stream would make the engine wait for a reader
        _ask_engine("kill", name)
    try:
        process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        _ask_engine("rm", "--force", name)
        process.kill()


def _exit_code(status: int) -> int:
    return -(status & 0x7F) if status & 0x7F else status >> 8


def engine() -> str:
    """Returns the container engine's executable. Raises `SandboxUnavailableError` if no engine is installed."""
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
    """Returns the system call filter as hex, or '' if this machine cannot build a filter for a Linux kernel."""
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
    """Returns the uid that may write to this user's folders in a container. If xkg runs as root, its folders are
    transferred to `keeper`. If an ordinary user starts podman, it maps that user to root."""
    if is_root():
        return NOBODY if keeper is None else keeper
    return 0 if Path(engine()).name == "podman" or not hasattr(os, "getuid") else os.getuid()
