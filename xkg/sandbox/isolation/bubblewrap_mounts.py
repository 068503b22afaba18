"""Defines the mounts, environment variables, limits and uid of the bubblewrap sandbox.

A job has read-only access to the interpreter, the system's libraries, `/usr/bin`, and its packages at `/site`. A job
also has an in-memory file system of `Limits.disk_mb` at `/tmp`, with its home and working folder in `/tmp/job`.
`/dev/shm` has 64 MB, and `/proc` lists only the job's own processes. A job cannot see `/home`, `/root`, `/etc` or xkg's
environment variables. Packages installed next to the interpreter are hidden, so only packages in the environment can be
imported."""

import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from xkg.errors import InputError, SandboxUnavailableError
from xkg.sandbox.isolation.interpreters import Interpreter, own
from xkg.sandbox.isolation.scratch import relative
from xkg.sandbox.isolation.seccomp import Denied
from xkg.sandbox.runner import Limits

HOME = "/tmp/job"
SITE = "/site"
PYTHON = "/python"
NOBODY = 65534
_SHARED_MEMORY = 64 << 20
_MAX_FILES = 256
Keeper = Literal["packages", "folders"]
"""The owner of persistent files: the package installer, or a program (such as git) that was given a folder. Each owner
has a separate uid, because the kernel counts processes by uid and an installation starts hundreds of threads."""
CAP_CHOWN, CAP_DAC_READ_SEARCH, CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN = 0, 2, 6, 7, 21

# A fixed hash seed and one thread per library make runs repeatable.
# Using a single thread also keeps a run from slowing down other runs.
QUIET = {
    "PATH": "/usr/bin:/bin",
    "HOME": HOME,
    "TMPDIR": "/tmp",
    "USER": "job",
    "LOGNAME": "job",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONNOUSERSITE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "MPLBACKEND": "Agg",
    "QT_QPA_PLATFORM": "offscreen",
    "SDL_AUDIODRIVER": "dummy",
    "SDL_VIDEODRIVER": "dummy",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass(frozen=True)
class Mount:
    """A host path, mounted at `at` inside the sandbox."""

    source: Path
    at: str
    writable: bool = False


@dataclass(frozen=True)
class Confined:
    """A command to run in the sandbox, such as a job or the installer. Paths in `files` are relative to the scratch
    folder. `python` contains files for the sandbox's `/python`, where `bin/python` links to the interpreter. `other` is
    an interpreter to link to instead of xkg's own. `unix_sockets` allows `AF_UNIX`. `keeper` selects a uid that may own
    persistent files, and `lasting` selects a uid that is not assigned to any later job. `denied` contains additional
    filter rules, and `devices` lists device nodes to read and write. The command starts in `folder`. If `reads_all` is
    set, the command can read anything in its mounts that root could read, without running as root."""

    command: tuple[str, ...]
    limits: Limits
    files: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    devices: tuple[Mount, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    python: Mapping[str, str] = field(default_factory=dict)
    other: Interpreter | None = None
    unix_sockets: bool = False
    keeper: Keeper | None = None
    lasting: bool = False
    denied: tuple[Denied, ...] = ()
    folder: str = HOME
    reads_all: bool = False


def python_files(
    packages: str | None, interpreter: Interpreter, first: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Returns the files for a virtual environment based on `interpreter`, to which `bin/python` must link. On the
    module path, the folder `packages` comes after the standard library. `first` contains xkg modules (name and text) to
    import before any other code runs.

    Packages installed next to the interpreter cannot be imported, and no package runs code before a job imports it. The
    environment's own `sitecustomize` takes precedence over packages' `sitecustomize`, and `.pth` files take effect only
    in the environment's own folder."""
    return {
        "pyvenv.cfg": f"home = {interpreter.program.parent}\ninclude-system-site-packages = false\n",
        f"{interpreter.packages}/packages.pth": f"{packages}\n" if packages else "",
        f"{interpreter.packages}/sitecustomize.py": "".join(f"import {name}\n" for name in first or ()),
        f"{interpreter.packages}/usercustomize.py": "",
        **{f"{interpreter.packages}/{name}.py": text for name, text in (first or {}).items()},
    }


_runs, _lasting_runs = itertools.count(), itertools.count()


def outside_uid(*, keeper: Keeper | None = None, lasting: bool = False) -> int | None:
    """Returns the uid to drop to outside the sandbox. Each call returns a new uid, so the kernel's process limit, which
    does not apply to root, counts only this job. Each `keeper` always gets the same uid, and `lasting` selects a uid
    from a separate range. Returns None for ordinary users, who keep their own uid.

    Raises `SandboxUnavailableError` if root lacks the capabilities to drop privileges."""
    if os.geteuid() != 0:
        return None
    if not holds(CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID):
        raise SandboxUnavailableError(
            "this root user cannot create a sandbox (no CAP_SYS_ADMIN, as in most containers); run as an ordinary "
            "user, or start the container with --privileged"
        )
    return unused_uid(keeper=keeper, lasting=lasting)


def holds(*rights: int) -> bool:
    """Returns whether this process has all the given capabilities."""
    lines = Path("/proc/self/status").read_text().splitlines()
    effective = int(next(line.split()[1] for line in lines if line.startswith("CapEff:")), 16)
    return all(effective >> right & 1 for right in rights)


def unused_uid(*, keeper: Keeper | None = None, lasting: bool = False) -> int:
    """Returns an unused uid, chosen as in `outside_uid`. Raises `SandboxUnavailableError` if this user namespace has no
    unused uid."""
    extents = [
        (int(first), int(first) + int(count))
        for first, _, count in (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
    ]
    low, high = max(extents, key=lambda extent: extent[1] - extent[0])
    if high > 0x7FFF0000:
        low, high = 0x60000000, 0x7FFF0000
    else:  # use the upper half of the uids that a container maps, below the uid of `nobody`
        low, high = (low + high) // 2, high - 8
    if high - low < 64:
        raise SandboxUnavailableError("root has no other uid in this container; run as an ordinary user instead")
    if keeper:
        return low - 1 - get_args(Keeper).index(keeper)
    drawn = 48 + next(_lasting_runs) % 16 if lasting else next(_runs) % 48
    return low + (os.getpid() * 64 + drawn) % (high - low)


def kernel_limits(limits: Limits) -> dict[str, int]:
    """Returns values for setrlimit(2), by name. `DATA` limits each process's private memory, because a single large
    allocation could outrun the watchdog."""
    return {
        "CORE": 0,
        "NOFILE": 1024,
        "MEMLOCK": 65536,
        "MSGQUEUE": 65536,
        "NPROC": limits.processes,
        "FSIZE": limits.disk_mb << 20,
        "CPU": math.ceil(limits.seconds) * (os.cpu_count() or 1) + 1,
        "DATA": 2 * (limits.memory_mb << 20),
    }


def limiting(limits: Limits, uid: int | None, *, reads_all: bool = False) -> tuple[str, ...]:
    """Returns a command prefix that sets kernel limits, drops root privileges, and executes the command that follows.
    If `reads_all` is set, read access is not dropped."""
    set_limits = (
        "/usr/bin/prlimit",
        *(f"--{name.lower()}={most}" for name, most in kernel_limits(limits).items()),
    )
    if uid is None:
        return set_limits
    drop = ("/usr/bin/setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups")
    if reads_all:
        return (*set_limits, *drop, "--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search")
    return (*set_limits, *drop, "--inh-caps=-all")


def arguments(confined: Confined, uid: int | None, sealed: Callable[[bytes], str]) -> list[str]:
    """Returns the bwrap arguments that set up the sandbox. `sealed` returns the number of a descriptor from which the
    given bytes can be read.

    Raises `UnsafeInputError` for a file outside the scratch folder, and `InputError` for too many files."""
    if len(confined.files) > _MAX_FILES:
        raise InputError(f"the job has {len(confined.files)} files; at most {_MAX_FILES} are allowed")
    plan = _Plan(sealed)
    plan.add("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    plan.add("--hostname", "sandbox", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL")
    if uid is None:
        plan.add("--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY))
    else:  # these capabilities are only needed for dropping root, after which the kernel removes them
        plan.add("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        plan.add(*(("--cap-add", "CAP_DAC_READ_SEARCH") if confined.reads_all else ()))
    for name, value in {**QUIET, **confined.variables}.items():
        plan.add("--setenv", name, value)

    for folder in ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/etc/alternatives", "/etc/ld.so.cache"):
        if Path(folder).exists():
            plan.bind(Path(folder), folder)
    for folder in ("/bin", "/lib", "/lib32", "/lib64"):
        if Path(folder).is_symlink():
            plan.add("--symlink", str(Path(folder).readlink()), folder)
        elif Path(folder).exists():
            plan.bind(Path(folder), folder)
    for interpreter in (own(), *((confined.other,) if confined.other else ())):
        in_usr = interpreter.prefix == Path("/usr")
        if not in_usr:
            plan.bind(interpreter.prefix, str(interpreter.prefix))
        for hidden in interpreter.hidden:
            if hidden.is_dir() and (not in_usr or hidden.is_relative_to("/usr/lib")):
                plan.memory(str(hidden), 4096, "0755")
                plan.freeze(str(hidden))
    plan.add("--proc", "/proc", "--dev", "/dev")
    plan.memory("/dev/shm", _SHARED_MEMORY)
    for device in confined.devices:
        plan.add("--dev-bind", str(device.source.resolve()), device.at)
    plan.freeze("/dev")
    plan.freeze("/proc")
    plan.memory("/tmp", confined.limits.disk_mb << 20)
    owner = NOBODY if uid is None else uid
    plan.text("/etc/passwd", f"job:x:{owner}:{owner}:job:{HOME}:/bin/sh\n")
    plan.text("/etc/group", f"job:x:{owner}:\n")
    plan.text("/etc/hosts", "127.0.0.1 localhost sandbox\n")
    for mount in confined.mounts:
        plan.bind(mount.source, mount.at, writable=mount.writable)
    for name, content in confined.python.items():
        plan.text(f"{PYTHON}/{name}", content)
    if confined.python:
        plan.link((confined.other or own()).program, f"{PYTHON}/bin/python")
    plan.add("--perms", "0777", "--dir", HOME)
    for name, content in confined.files.items():
        plan.text(f"{HOME}/{relative(name)}", content, "0666")
    plan.freeze("/")
    plan.add(*plan.frozen, "--chdir", confined.folder)
    return plan.arguments


class _Plan:
    """Collects bwrap's arguments. Creates parent folders of mount points explicitly, because bwrap would make them
    accessible only to their owner, and the job has a different uid."""

    def __init__(self, sealed: Callable[[bytes], str]) -> None:
        self.arguments: list[str] = []
        self.frozen: list[str] = []
        self._sealed = sealed
        self._created = {"/proc", "/dev", "/tmp", HOME}

    def add(self, *arguments: str) -> None:
        self.arguments += arguments

    def bind(self, source: Path, place: str, *, writable: bool = False) -> None:
        self.add(*self._way(place), "--bind" if writable else "--ro-bind", str(source), place)

    def memory(self, place: str, size: int, perms: str = "0777") -> None:
        self.add(*self._way(place), "--size", str(size), "--perms", perms, "--tmpfs", place)

    def text(self, place: str, content: str, perms: str = "0644") -> None:
        self.add(*self._way(place), "--perms", perms, "--file")
        self.add(self._sealed(content.encode("utf-8", "surrogatepass")), place)

    def link(self, target: Path, place: str) -> None:
        self.add(*self._way(place), "--symlink", str(target), place)

    def freeze(self, place: str) -> None:
        self.frozen += ("--remount-ro", place)

    def _way(self, place: str) -> Iterator[str]:
        for parent in list(reversed(PurePosixPath(place).parents))[1:]:
            if str(parent) not in self._created:
                self._created.add(str(parent))
                yield from ("--perms", "0777" if parent.is_relative_to(HOME) else "0755", "--dir", str(parent))
