"""Packages for the code of papers: import names → one folder of wheels, made inside the sandbox.

`installer` runs there with uv; the sandbox has no network but a socket to `host_proxy`, which connects to the package
index alone. Only wheels are installed, no code of theirs is run, and a wheel's size and top-level names are read from
its list of files before it is downloaded. `host_proxy` bounds downloads, the kernel a single file; a wheel with false
sizes can still fill the disk up to what uv unpacks in ten minutes. Without a sandbox (`unsafe-subprocess`) the same
installer runs as a plain process with the user's network.

    folder/<hash>/site           the packages of one resolved set, shared by all code that needs it
    folder/requests/<key>.json   the set that answers a request
    folder/sets/<hash>.json      the wheels of a set, to install it again when its folder was removed
    folder/making/               uv's cache, unpacked wheels, and sets under construction

All graphs of a user share the folder. A wheel is unpacked and compiled once, in `making/wheels`, and sets link to its
files: both are under one mount of the sandbox, because a hard link cannot cross mounts.
"""

import contextlib
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from pydantic import ValidationError

from xkg.config import EnvironmentSettings
from xkg.errors import PackagesError
from xkg.files import file_lock, read_regular, user_cache_folder, write_whole
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.bubblewrap_mounts import QUIET, Confined, Mount, interpreter, outside_uid
from xkg.sandbox.isolation.container import IMAGE_PYTHON, IMAGE_UV, ContainerRunner, owner_in_container
from xkg.sandbox.isolation.gpus import nvidia_gpus
from xkg.sandbox.isolation.host_proxy import PYTORCH_CPU, configured_index, reachable, registry_socket
from xkg.sandbox.isolation.scratch import fill
from xkg.sandbox.isolation.subprocess import UnsafeSubprocessRunner
from xkg.sandbox.packages.disk_quota import Quota, prune, quota
from xkg.sandbox.packages.distributions import distribution_of
from xkg.sandbox.packages.plan import Done, Installing, Locked, Plan
from xkg.sandbox.packages.requirement_hints import is_cuda, repository_sources, version_differences, version_hints
from xkg.sandbox.runner import Environment, Limits, Runner

_SECONDS = 600
_MOST_ANSWERED = 16 << 20
# uv retries once, and waits so many seconds for data.
_PATIENCE = {"UV_HTTP_RETRIES": "1", "UV_HTTP_TIMEOUT": "30"}
_NETWORK = frozenset("HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR".split())
# Modules that run inside, found as a package without `__init__`, so that they need nothing else of xkg.
_SENT = tuple("guest/forward packages/installer packages/toml_text packages/wheel_exports packages/wheels".split())
_START = "import sys; sys.path.insert(0, '.'); from xkg.sandbox.packages.installer import main; main()"
_TAG = "import platform, sys; print(f'{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}')"
_INSTALLER = ("-I", "-c", _START, "request.json")
_MAKE, _SOCKET, _UV, _CERTIFICATES = "/make", "/registry", "/uv/uv", "/certificates.pem"


def environments_folder(settings: EnvironmentSettings) -> Path:
    """The folder of environments that all graphs of this user share."""
    return settings.folder or user_cache_folder() / "environments"


class UvEnvironments:
    """Makes environments with uv. An `EnvironmentMaker`. `notify` is told what is installed, and how much of it is
    downloaded.

    Versions that the requirements do not name are those of the day on which the code was written, or of the time when
    this Python first had wheels, if that is later: code of 2023 gets the NumPy of 2023. Where that gives fewer
    packages, the newest are used.

    `make` takes top-level import names that the repository does not provide itself; `Environment.missing` lists the
    unavailable ones with their reasons, and the rest is installed. Declared packages are installed too if they fit in;
    a note names each that is not. It raises `PackagesError` only if the folder cannot be written. One environment is
    made at a time, also across processes."""

    def __init__(
        self, settings: EnvironmentSettings, runner: Runner, notify: Callable[[Installing], None] = lambda _: None
    ) -> None:
        self._folder = environments_folder(settings).absolute()
        self._settings = settings
        self._notify = notify
        self._sandbox = runner if isinstance(runner, BubblewrapRunner | ContainerRunner) else None
        self._contained = not isinstance(runner, UnsafeSubprocessRunner)

    def make(
        self,
        imports: Sequence[str] | Mapping[str, Sequence[str]],
        requirements: Sequence[str] = (),
        written: str | None = None,
        declared: Sequence[str] = (),
    ) -> Environment:
        used = imports if isinstance(imports, Mapping) else dict.fromkeys(imports, ())
        names = {n: tuple(used[n]) for n in sorted(used) if n not in sys.stdlib_module_names and n}
        stated = version_hints(declared)
        hints = stated | version_hints(requirements)
        if not names and not stated:
            return Environment(site=None, hash=set_hash(()))
        if self._settings.max_mb == 0:
            reason = "environments are switched off (environment.max_mb is 0)"
            return Environment(site=None, hash=set_hash(()), missing=dict.fromkeys(names, reason))
        try:
            environment = self._cached_or_new(
                names, hints, newest_of(written), [name for name in sorted(stated) if not is_cuda(name)]
            )
        except OSError as error:
            raise PackagesError(
                f"cannot write packages to {self._folder}: {error.strerror or error}; free space or rights are needed"
            ) from error
        places = repository_sources(requirements)
        missing = {
            name: why + (f" (the repository takes it from {places[known]})" if known in places else "")
            for name, why in environment.missing.items()
            for known in [canonicalize_name(distribution_of(name) or name)]
        }
        cuda = ", ".join(name for name in sorted(stated) if is_cuda(name))
        notes = (f"left out: {cuda} (toolkits and drivers for CUDA are not installed)",) if cuda else ()
        return environment.model_copy(update={"missing": missing, "notes": (*environment.notes, *notes)})

    @functools.cached_property
    def _python(self) -> str:
        """Of the interpreter that code will run on."""
        if not isinstance(self._sandbox, ContainerRunner):
            return _python()
        outcome = self._sandbox.confine(Confined((IMAGE_PYTHON, "-c", _TAG), Limits()))
        if not outcome.ok:
            raise PackagesError(f"the image's interpreter does not run ({outcome.output.strip()[-200:]}): make it anew")
        return f"container {outcome.output.strip()}"

    def again(self, digest: str) -> Environment | None:
        if not re.fullmatch(r"[0-9a-f]{16}", digest):
            return None
        try:
            plan = Plan.model_validate_json((self._folder / "sets" / f"{digest}.json").read_bytes())
            with self._locked():
                environment = self._installed(plan, (limits := quota(self._folder, self._settings)))
                prune(self._folder, limits.total)
        except (OSError, ValueError):
            return None
        return environment if environment.hash == digest else None

    def _cached_or_new(
        self,
        names: Mapping[str, tuple[str, ...]],
        hints: Mapping[str, str],
        newest: str | None,
        declared: Sequence[str],
    ) -> Environment:
        index, cpu = configured_index(), self._cpu_index()
        question = json.dumps([names, sorted(hints.items()), newest, self._python, sorted(index.hosts), cpu, declared])
        stamp = self._folder / "requests" / f"{hashlib.sha256(question.encode()).hexdigest()[:24]}.json"
        known = self._known(stamp)
        if known is not None:
            return known
        with self._locked():
            known = self._known(stamp)
            if known is not None:
                return known
            limits = quota(self._folder, self._settings)
            plan = self._plan(names, hints, newest, limits, declared)
            environment = self._installed(plan, limits)
            environment = environment.model_copy(update={"notes": _version_notes(environment, plan, hints, newest)})
            if not environment.incomplete:
                _write(stamp, environment.model_dump_json(exclude={"site"}))
            prune(self._folder, limits.total)
        return environment

    def _known(self, stamp: Path) -> Environment | None:
        try:
            environment = Environment(site=None, **json.loads(stamp.read_text()))
        except (OSError, ValueError):
            return None
        if not environment.packages:
            return environment
        site = self._folder / environment.hash / "site"
        if not site.is_dir():
            return None
        os.utime(site.parent)
        return environment.model_copy(update={"site": site})

    def _plan(
        self,
        names: Mapping[str, tuple[str, ...]],
        hints: Mapping[str, str],
        newest: str | None,
        limits: Quota,
        declared: Sequence[str],
    ) -> Plan:
        missing = {name: "not the name of a package" for name in names if not re.fullmatch(r"[A-Za-z]\w*", name, re.A)}
        wanted = []
        for name, used in names.items():
            if name not in missing:
                known = distribution_of(name)
                distribution = canonicalize_name(known or name)
                wanted.append((name, distribution, known is None and distribution not in hints, used))
        query = {
            "mode": "plan",
            "wanted": wanted,
            "hints": hints,
            "declared": declared,
            "newest": newest,
            "max_mb": limits.one,
            "limited_by": limits.source,
            "cpu": self._cpu_index(),
        }
        answer, trouble = self._run(query, limits)
        try:
            plan = Plan.model_validate(answer)
        except ValidationError:
            return Plan(wheels=(), missing=dict.fromkeys(names, trouble), incomplete=True)
        return plan.model_copy(update={"missing": missing | plan.missing})

    def _installed(self, plan: Plan, limits: Quota) -> Environment:
        pins = tuple(sorted(wheel.pin for wheel in plan.wheels))
        digest = set_hash((f"{wheel.pin} {wheel.sha256}" for wheel in plan.wheels), self._python)
        if not plan.wheels:
            return Environment(site=None, hash=digest, missing=plan.missing, incomplete=plan.incomplete)
        home = self._folder / digest
        if not (home / "site").is_dir():
            making = self._making()
            wheels = {self._key(wheel): wheel for wheel in plan.wheels}
            new = [wheel for key, wheel in wheels.items() if not (making / "wheels" / key).is_dir()]
            answer, trouble = self._run(
                {"mode": "install", "wheels": [(key, wheel.line) for key, wheel in wheels.items()]},
                limits,
                Installing.of(plan, new) if new else None,
            )
            with contextlib.suppress(ValidationError):
                trouble = Done.model_validate(answer).error or ""
            size = 0 if trouble else _readable(making / "work/site") / 2**20
            if size > limits.one:
                trouble = f"takes {size:,.0f} MB on disk, limit is {limits.one:,} MB ({limits.source})"
            if trouble:
                why = {pin.partition("==")[0]: f"not installed: {trouble}" for pin in pins}
                return Environment(site=None, hash=set_hash(()), missing=why | dict(plan.missing), incomplete=True)
            _write(self._folder / "sets" / f"{digest}.json", plan.model_dump_json())
            (making / "work").rename(home)
        return Environment(
            site=home / "site",
            hash=digest,
            packages=pins,
            provided={name: pin for name, pin in plan.provided.items() if pin in pins},
            missing=plan.missing,
            incomplete=plan.incomplete,
        )

    def _key(self, wheel: Locked) -> str:
        """Of the wheel, unpacked and compiled for this interpreter, in the store."""
        return hashlib.sha256(f"{self._python} {wheel.pin} {wheel.sha256 or wheel.url}".encode()).hexdigest()[:32]

    def _cpu_index(self) -> str | None:
        """The index of PyTorch's builds for CPUs, if it is to be used and can be reached."""
        url: str | None = self._settings.cpu_index
        if url in ("auto", "none"):
            url = PYTORCH_CPU if url == "auto" and configured_index().public else None
        return url if url and not nvidia_gpus() and reachable(url) else None

    def _making(self) -> Path:
        return self._folder / "making"

    def _run(self, query: dict[str, Any], limits: Quota, installing: Installing | None = None) -> tuple[Any, str]:
        """The installer's answer, and the reason where there is none."""
        if self._contained and self._sandbox is None:
            return None, "packages can be installed in bubblewrap and containers only"
        if isinstance(self._sandbox, ContainerRunner) and not sys.platform.startswith("linux"):
            return None, "packages can be installed in containers on Linux only, where they reach the index alone"
        making = self._making()
        keeper = outside_uid(keeper=True) if self._sandbox else None
        owner = os.getuid() if keeper is None else keeper
        if making.exists() and making.stat().st_uid != owner:
            shutil.rmtree(making)
        work, unpacking = making / "work", making / "unpacking"
        for folder in (work, unpacking):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (making, work, unpacking, making / "wheels", making / "cache"):
            folder.mkdir(exist_ok=True)
            os.chown(folder, owner, owner if os.getuid() == 0 else -1)
        answer = making / "work/answer.json"
        if installing is not None:
            self._notify(installing)
        ended = self._confined(query, limits, keeper, installing) if self._sandbox else self._plain(query)
        if not (_is_folder(work) and (_is_folder(work / "site") or not os.path.lexists(work / "site"))):
            shutil.rmtree(making, ignore_errors=True)
            return None, "the installation left something else than its folder"
        try:
            return json.loads(read_regular(answer, _MOST_ANSWERED, links=False)), ended
        except (OSError, ValueError):
            return None, ended
        finally:
            with contextlib.suppress(OSError):
                answer.unlink(missing_ok=True)

    def _confined(self, query: dict[str, Any], limits: Quota, keeper: int | None, installing: Installing | None) -> str:
        index, cpu = configured_index(), self._cpu_index()
        if cpu:
            index = index.with_index(cpu)
        certificates = ssl.get_default_verify_paths().cafile
        variables = dict(index.variables) | _PATIENCE
        mounts = [Mount(self._making(), _MAKE, writable=True)]
        if certificates:
            variables |= {"SSL_CERT_FILE": _CERTIFICATES}
            mounts.append(Mount(Path(certificates).resolve(), _CERTIFICATES))
        received = self._progress(installing) if installing else None
        with registry_socket(index.hosts, 4 * limits.one << 20, received=received) as socket:
            confined = Confined(
                command=(str(interpreter()), *_INSTALLER),
                limits=Limits(seconds=_seconds(installing), disk_mb=max(256, limits.one), processes=512),
                files={**_installer(), "request.json": json.dumps(_request(query, _UV, _SOCKET, _MAKE))},
                mounts=(*mounts, Mount(socket, _SOCKET)),
                variables=variables,
                unix_sockets=True,
                keeper=True,
            )
            if isinstance(self._sandbox, ContainerRunner):
                request = json.dumps(_request(query, IMAGE_UV, _SOCKET, _MAKE))
                inside = replace(
                    confined, command=(IMAGE_PYTHON, *_INSTALLER), files={**_installer(), "request.json": request}
                )
                outcome = self._sandbox.confine(inside, user=owner_in_container(keeper))
            else:
                assert self._sandbox is not None
                outcome = self._sandbox.confine(replace(confined, mounts=(*confined.mounts, Mount(_uv(), _UV))))
        return _trouble(outcome.ended, outcome.output)

    def _progress(self, installing: Installing) -> Callable[[int], None]:
        """Notifies of each twentieth of a download; `received` is the number of bytes so far."""
        step = max(1, installing.total_mb // 20)
        told = 0

        def received(amount: int) -> None:
            nonlocal told
            if (done := min(amount >> 20, installing.total_mb)) >= told + step:
                told = done
                self._notify(installing.model_copy(update={"done_mb": done}))

        return received

    def _plain(self, query: dict[str, Any]) -> str:
        making = self._making()
        request = _request(query, str(_uv()), None, str(making))
        fill(making, {**_installer(), "request.json": json.dumps(request)})
        variables = QUIET | {"HOME": str(making), "TMPDIR": str(making), "PATH": os.defpath} | _PATIENCE
        variables |= {name: value for name, value in os.environ.items() if name.upper() in _NETWORK}
        variables |= configured_index().variables
        command = (str(interpreter()), *_INSTALLER)
        try:
            ran = subprocess.run(
                command, cwd=making, env=variables, capture_output=True, text=True, timeout=3 * _SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return _trouble("timeout", "")
        return _trouble("exited", ran.stderr)

    def _locked(self) -> AbstractContextManager[bool]:
        self._folder.mkdir(parents=True, exist_ok=True)
        return file_lock(self._folder / ".lock")


def _seconds(installing: Installing | None) -> int:
    """Time for an installation, by slow networks too: a second for each megabyte more."""
    return _SECONDS + (installing.total_mb if installing else 0)


def _request(query: dict[str, Any], uv: str, socket: str | None, making: str) -> dict[str, Any]:
    work = f"{making}/work"
    paths = {"cache": f"{making}/cache", "answer": f"{work}/answer.json", "target": f"{work}/site"}
    paths |= {"store": f"{making}/wheels", "unpacking": f"{making}/unpacking"}
    return query | paths | {"uv": uv, "socket": socket}


def set_hash(wheels: Sequence[str] | Iterator[str], python: str | None = None) -> str:
    """The id of a resolved set on an interpreter, by default this one: 16 hex digits."""
    return hashlib.sha256("\n".join([python or _python(), *sorted(wheels)]).encode()).hexdigest()[:16]


def _version_notes(
    environment: Environment, plan: Plan, hints: Mapping[str, str], newest: str | None
) -> tuple[str, ...]:
    notes = []
    if environment.packages and newest and not plan.dated:
        notes.append(f"packages are the newest: fewer of them are available as of {newest}")
    if others := sorted(version_differences(hints, environment.packages)):
        why = "no wheel for this Python, or they exclude each other"
        notes.append(f"other versions than the repository asks for: {', '.join(others)} ({why})")
    notes += [f"{name}, which the repository declares, is not installed: {why}" for name, why in plan.left_out.items()]
    return tuple(notes)


def newest_of(written: str | None) -> str | None:
    """The last day whose packages suit code of the day `written`: that day, or, for code older than this Python, half a
    year after its release, by when most packages had wheels for it. None where the day is not known."""
    try:
        day = date.fromisoformat(written or "")
    except ValueError:
        return None
    if day >= _first_day():
        return day.isoformat()
    return date(2012 + sys.version_info.minor, 4, 1).isoformat()


def first_day() -> str:
    """The day by which the packages of numerics had wheels for this Python: those of that day have removed least of
    what older code calls."""
    return _first_day().isoformat()


def _first_day() -> date:
    # Python 3.9 and later come out every October (PEP 602).
    return date(2011 + sys.version_info.minor, 12, 1)


def _is_folder(place: Path) -> bool:
    """Whether this is a folder, and not a link to one."""
    return place.is_dir() and not place.is_symlink()


def _readable(folder: Path) -> int:
    """Makes a folder readable for everybody, whatever modes its wheels gave. Returns its size in bytes."""
    total = 0
    for parent, _, names in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in names:
            path = Path(parent) / name
            status = path.lstat()
            total += status.st_size
            if not path.is_symlink() and status.st_mode & 0o444 != 0o444:
                path.chmod(status.st_mode | 0o444)
    return total


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    write_whole(path, text.encode())


def _trouble(ended: str, output: str) -> str:
    if ended != "exited":
        return f"the installation was stopped ({ended})"
    lines = output.strip().splitlines()
    return f"the installation failed ({lines[-1][:200]})" if lines else "the installation failed"


def _python() -> str:
    return f"{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}"


@functools.cache
def _uv() -> Path:
    import uv

    return Path(uv.find_uv_bin()).resolve()


@functools.cache
def _installer() -> dict[str, str]:
    sandbox = Path(__file__).parents[1]
    return {f"xkg/sandbox/{name}.py": (sandbox / f"{name}.py").read_text() for name in _SENT}
