"""Installs packages for code from papers. Import names are resolved to one folder of wheels, which is created inside
the sandbox.

`installer` runs uv in the sandbox. The sandbox's only network access is a socket to `host_proxy`, which connects only
to the package index. Only wheels are installed, and none of their code is run. A wheel's size and top-level names are
read from the wheel's file list before the download. Packages without a wheel are built in a separate sandbox, without
network access or access to xkg's folders (`source_builds`). `host_proxy` limits downloads, and the kernel limits the
size of a single file. If a wheel declares false sizes, the only limit is how much uv can unpack in ten minutes. Without
a sandbox (`unsafe-subprocess`) the same installer runs as a plain process with the user's network.

    folder/<hash>/site           the packages of one resolved set, shared by all code that needs them
    folder/requests/<key>.json   the resolved set for a request
    folder/sets/<hash>.json      the wheels in a set, for reinstalling the set if its folder was removed
    folder/built/<key>/          the wheel built from a source distribution, or the reason why the build failed
    folder/making/               uv's cache, unpacked wheels, and a folder for each run of the installer

All of a user's graphs share the folder. Each wheel is unpacked and compiled once, in `making/wheels`, and sets contain
hard links to its files. In the sandbox, wheels and sets are under the same mount, because hard links cannot cross
mounts."""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from pydantic import ValidationError

from xkg.config import EnvironmentSettings
from xkg.errors import PackagesError, SandboxUnavailableError
from xkg.files import file_lock, user_cache_folder, write_whole
from xkg.sandbox.isolation.bubblewrap_mounts import Confined
from xkg.sandbox.isolation.container import IMAGE_PYTHON, ContainerRunner
from xkg.sandbox.isolation.host_proxy import configured_index
from xkg.sandbox.isolation.interpreters import Interpreter, at, download, installed, own
from xkg.sandbox.packages import python_choice
from xkg.sandbox.packages.disk_quota import Quota, planning, prune, quota
from xkg.sandbox.packages.distributions import LAST_WITH, distribution_of
from xkg.sandbox.packages.installer_runs import BUILT, InstallerRuns
from xkg.sandbox.packages.plan import VERSIONS, Done, Installing, Locked, Plan, Source
from xkg.sandbox.packages.requirement_hints import is_cuda, repository_sources, version_differences, version_hints
from xkg.sandbox.packages.source_builds import FailedBuild, SourceWheels
from xkg.sandbox.runner import IN_PLACE_OF_CUDA, Environment, Limits, Runner

_TAG = "import platform, sys; print(f'{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}')"
_INSTALLING = ".lock"
_MOST_ROUNDS = 8
"""Maximum number of rounds of building from source. TensorFlow 1.15 needs five rounds, because uv reports packages
without a wheel one at a time."""
_MOST_VERSIONS = 2
"""Maximum number of versions to build per package. If no compatible version has a wheel, uv reports one version after
another."""


def environments_folder(settings: EnvironmentSettings) -> Path:
    """Returns the environments folder, which all of this user's graphs share."""
    return settings.folder or user_cache_folder() / "environments"


@dataclass(frozen=True)
class _Request:
    """A request for an environment. The requirement lines are `declared` followed by `lines`. `versions` are Python
    versions. Packages are chosen as of the day `written`, or as of a later day that suits the interpreter, unless
    `exact` is set."""

    names: Mapping[str, Sequence[str]]
    lines: tuple[str, ...]
    declared: tuple[str, ...]
    written: str | None
    versions: SpecifierSet = field(default_factory=SpecifierSet)
    exact: bool = False

    def hints(self, interpreter: Interpreter) -> dict[str, str]:
        hints = version_hints(self.declared, interpreter.full) | version_hints(self.lines, interpreter.full)
        hints.pop(python_choice.PYTHON, None)
        return hints

    def newest(self, interpreter: Interpreter) -> str | None:
        return self.written if self.exact else newest_of(self.written, interpreter)


class UvEnvironments:
    """An `EnvironmentMaker` that uses uv. `notify` receives the packages being installed and the download progress.

    The default interpreter is xkg's own. If the repository asks for a different Python version, or its pins have no
    wheels for xkg's version, a better matching installed interpreter is used. Packages without a wheel for any
    interpreter are built from source.

    Unpinned packages get versions from the half-year in which the code was written. If a pinned version or the wheels
    for the Python version only appeared later, versions from that later time are used. For example, code from 2023 gets
    NumPy from 2023. If the newest versions satisfy more imports, xkg instead uses versions from the first day on which
    all of them are available.

    `make` accepts top-level import names that the repository does not provide itself. `Environment.missing` lists
    unavailable imports with reasons. All other imports are installed. Declared packages are also installed if they are
    compatible. If not, a note lists them. Raises `PackagesError` only if the folder cannot be written. Several
    processes can choose versions at the same time, but installations run one after another."""

    def __init__(
        self, settings: EnvironmentSettings, runner: Runner, notify: Callable[[Installing], None] = lambda _: None
    ) -> None:
        self._folder = environments_folder(settings).absolute()
        self._settings = settings
        self._runs = InstallerRuns(self._folder, settings, runner, notify)
        self._sources = SourceWheels(self._runs, self._tools, notify)
        self._notify = notify

    def make(
        self,
        imports: Mapping[str, Sequence[str]] | Iterable[str],
        requirements: Sequence[str] = (),
        written: str | None = None,
        declared: Sequence[str] = (),
    ) -> Environment:
        added = self._settings.packages
        made = self._made(imports, (*added, *requirements), written, (*added, *declared))
        return on_cpu(made) if self._settings.cpu else made

    def _made(
        self,
        imports: Mapping[str, Sequence[str]] | Iterable[str],
        requirements: Sequence[str],
        written: str | None,
        declared: Sequence[str],
    ) -> Environment:
        used = imports if isinstance(imports, Mapping) else dict.fromkeys(imports, ())
        names = {name: tuple(used[name]) for name in sorted(used) if name not in sys.stdlib_module_names and name}
        stated = version_hints(declared)
        versions = python_choice.asked(version_hints([*declared, *requirements]).get(python_choice.PYTHON))
        if not names and not stated:
            interpreter, told = self._first(versions)
            return _empty(interpreter).model_copy(update={"notes": told})
        if self._settings.max_mb == 0:
            reason = "environments are disabled (environment.max_mb is 0)"
            return Environment(site=None, hash=set_hash(()), missing=dict.fromkeys(names, reason))
        try:
            environment = self._cached_or_new(_Request(names, tuple(requirements), tuple(declared), written, versions))
        except OSError as error:
            raise PackagesError(
                f"cannot write packages to {self._folder}: {error.strerror or error}; free disk space or correct its "
                "permissions"
            ) from error
        places = repository_sources(requirements)
        missing = {
            name: why + (f" (the repository installs it from {places[known]})" if known in places else "")
            for name, why in environment.missing.items()
            for known in [canonicalize_name(distribution_of(name) or name)]
        }
        cuda = ", ".join(name for name in sorted(stated) if is_cuda(name))
        notes = (f"left out: {cuda} (CUDA toolkits and drivers are not installed)",) if cuda else ()
        return environment.model_copy(update={"missing": missing, "notes": (*environment.notes, *notes)})

    def again(self, digest: str) -> Environment | None:
        if not re.fullmatch(r"[0-9a-f]{16}", digest):
            return None
        try:
            plan = Plan.model_validate_json((self._folder / "sets" / f"{digest}.json").read_bytes())
            if self._digest(plan) != digest:
                return None
            if self._is_there(digest):
                return self._environment(plan, digest)
            environment = self._installed(plan, (limits := quota(self._folder, self._settings)))
            self._prune(limits)
        except (OSError, ValueError, SandboxUnavailableError):
            return None
        return environment if environment.hash == digest else None

    @functools.cached_property
    def _in_image(self) -> str | None:
        if not isinstance(self._runs.sandbox, ContainerRunner):
            return None
        outcome = self._runs.sandbox.confine(Confined((IMAGE_PYTHON, "-c", _TAG), Limits()))
        if not outcome.ok:
            raise PackagesError(
                f"the image's interpreter does not run ({outcome.output.strip()[-200:]}); rebuild the image"
            )
        return f"container {outcome.output.strip()}"

    def _tag(self, interpreter: Interpreter) -> str:
        return self._in_image or interpreter.tag

    def _others(self) -> Mapping[str, Path]:
        return {} if self._in_image else installed()

    def _first(self, versions: SpecifierSet) -> tuple[Interpreter, tuple[str, ...]]:
        """Returns the interpreter that a repository asks for, or the closest available one with a note."""
        if versions.contains(own().full) or self._in_image:
            return own(), ()
        lacks = not python_choice.allowed(self._others(), versions)
        if lacks and self._settings.python_downloads and (version := python_choice.wanted(versions)):
            download(version)
        known = {**self._others(), own().version: None}
        chosen = python_choice.nearest(versions, known) or own().version
        notes: tuple[str, ...] = ()
        if not python_choice.allowed([chosen], versions):
            fitting = python_choice.wanted(versions)
            remedy = f" (to install a suitable one, run `{python_choice.install(fitting)}`)" if fitting else ""
            absent = "could not be downloaded" if self._settings.python_downloads else "is not installed"
            notes = (f"the repository asks for Python {versions}, which {absent}; using {chosen}{remedy}",)
        return at(known[chosen]), notes

    def _cached_or_new(self, request: _Request) -> Environment:
        index, cpu = configured_index(), self._runs.cpu_index()
        downloads = self._settings.python_downloads
        pythons = (str(request.versions), self._tag(own()), sorted(self._others()), downloads)
        packages = (request.names, request.lines, request.declared, request.written)
        question = json.dumps([packages, pythons, sorted(index.hosts), cpu, _version()])
        stamp = self._folder / "requests" / f"{hashlib.sha256(question.encode()).hexdigest()[:24]}.json"
        known = self._known(stamp)
        if known is not None:
            return known
        with self._alone(stamp.with_suffix(".lock")):
            known = self._known(stamp)
            if known is not None:
                return known
            limits = quota(self._folder, self._settings)
            interpreter, notes = self._first(request.versions)
            not_downloaded = downloads and bool(notes)
            with planning(self._folder):
                plan = self._best_plan(request, interpreter, limits)
                environment = self._installed(plan, limits)
            used = at(plan.python)
            notes += _version_notes(environment, plan, request.hints(used), request.newest(used))
            environment = environment.model_copy(update={"notes": notes})
            if not environment.incomplete and not not_downloaded:
                _write(stamp, environment.model_dump_json(exclude={"site"}))
            self._prune(limits)
        return environment

    def _known(self, stamp: Path) -> Environment | None:
        try:
            environment = Environment(site=None, **json.loads(stamp.read_text()))
        except (OSError, ValueError):
            return None
        if not environment.packages:
            return environment
        if not self._is_there(environment.hash):
            return None
        return environment.model_copy(update={"site": self._folder / environment.hash / "site"})

    def _is_there(self, digest: str) -> bool:
        """Returns whether a set is installed. Also updates the time at which an installed set was last requested."""
        home = self._folder / digest
        if not (home / "site").is_dir():
            return False
        os.utime(home)
        return True

    def _digest(self, plan: Plan) -> str:
        return set_hash((f"{wheel.pin} {wheel.sha256}" for wheel in plan.wheels), self._tag(at(plan.python)))

    def _best_plan(self, request: _Request, interpreter: Interpreter, limits: Quota) -> Plan:
        """Returns the plan for `interpreter`, or for a different interpreter that has more wheels for the requested
        versions. Includes packages built from source."""
        plan = self._plan(request, interpreter, limits)
        for other in self._with_more_wheels(request, plan):
            if _lacks(alternative := self._plan(request, other, limits), request) < _lacks(plan, request):
                plan = alternative
                break
        hints = request.hints(at(plan.python))
        built: list[str] = []
        failed: dict[str, str] = {}
        tried: set[str] = set()
        for _ in range(_MOST_ROUNDS):
            present = {wheel.name for wheel in plan.wheels}
            versions = Counter(pin.partition("==")[0] for pin in tried)
            sources: dict[str, Source] = {}
            # Versions that the repository asks for are processed last, so that they replace other versions.
            for offer in sorted(plan.offers, key=lambda offer: offer.line in hints.values()):
                source = offer.source
                if source is None or offer.is_outdated or (offer.pythons and source.name in present):
                    continue
                if source.pin not in tried and versions[source.name] < _MOST_VERSIONS:
                    sources[source.name] = source
            # A module from one of the repository's own requirements may share its name with an unrelated project.
            named = [source for source in sources.values() if source.name in hints] or list(sources.values())
            for source in named:
                tried.add(source.pin)
                try:
                    folder = self._sources.folder(source, [w.pin for w in plan.wheels], at(plan.python), limits)
                    built.append(f"{BUILT}/{folder}")
                except FailedBuild as error:
                    failed[source.name] = str(error)
            if not named:
                break
            plan = self._plan(request, at(plan.python), limits, built, failed)
        return plan

    def _with_more_wheels(self, request: _Request, plan: Plan) -> Iterator[Interpreter]:
        here = self._others()
        versions = python_choice.allowed(here, request.versions) or list(here)
        wanted = python_choice.with_most_wheels(plan.offers, VERSIONS)
        may_download = self._settings.python_downloads and not self._in_image
        if may_download and wanted and wanted[0] not in here and (program := download(wanted[0])):
            yield at(program)
        for version in python_choice.with_most_wheels(plan.offers, versions)[:1]:
            yield at(here[version])

    def _tools(self, lines: Sequence[str], day: str, interpreter: Interpreter) -> Environment:
        if not lines:
            return _empty(interpreter)
        request = _Request({}, (), tuple(lines), day or None, exact=True)
        limits = quota(self._folder, self._settings)
        return self._installed(self._plan(request, interpreter, limits), limits)

    def _plan(
        self,
        request: _Request,
        interpreter: Interpreter,
        limits: Quota,
        built: Sequence[str] = (),
        failed: Mapping[str, str] | None = None,
    ) -> Plan:
        names, hints = request.names, request.hints(interpreter)
        hints = {distribution_of(name) or name: line for name, line in LAST_WITH.items() if name in names} | hints
        missing = {name: "not the name of a package" for name in names if not re.fullmatch(r"[A-Za-z]\w*", name, re.A)}
        wanted = []
        for name, used in names.items():
            if name not in missing:
                known = distribution_of(name)
                distribution = canonicalize_name(known or name)
                wanted.append((name, distribution, known is None and distribution not in hints, used))
        stated = version_hints(request.declared, interpreter.full)
        query = {
            "mode": "plan",
            "wanted": wanted,
            "hints": hints,
            "declared": [name for name in sorted(stated) if name in hints and not is_cuda(name)],
            "newest": request.newest(interpreter),
            "max_mb": limits.one,
            "limited_by": limits.source,
            "cpu": self._runs.cpu_index(),
            "pythons": [version for version in VERSIONS if version != interpreter.version],
            "built": built,
            "failed": failed or {},
        }
        with self._runs.run(query, limits, interpreter) as (answer, trouble, _):
            try:
                plan = Plan.model_validate(answer)
            except ValidationError:
                return Plan(wheels=(), missing=dict.fromkeys(names, trouble), incomplete=True)
        python = None if interpreter == own() else interpreter.program
        return plan.model_copy(update={"missing": missing | plan.missing, "python": python})

    def _installed(self, plan: Plan, limits: Quota) -> Environment:
        interpreter = at(plan.python)
        digest = self._digest(plan)
        if not plan.wheels:
            return self._environment(plan, digest)
        with self._alone(self._folder / _INSTALLING):
            trouble = "" if self._is_there(digest) else self._install(plan, digest, interpreter, limits)
        if trouble:
            why = {wheel.name: f"not installed: {trouble}" for wheel in plan.wheels}
            return _empty(interpreter).model_copy(update={"missing": why | dict(plan.missing), "incomplete": True})
        return self._environment(plan, digest)

    def _install(self, plan: Plan, digest: str, interpreter: Interpreter, limits: Quota) -> str:
        """Installs a set. Returns the reason why the set could not be installed, or ''."""
        wheels = {self._key(wheel, interpreter): wheel for wheel in plan.wheels}
        new = {self._runs.making / "wheels" / key: wheel for key, wheel in wheels.items()}
        new = {place: wheel for place, wheel in new.items() if not place.is_dir()}
        query = {"mode": "install", "wheels": [(key, wheel.line) for key, wheel in wheels.items()]}
        told = Installing.of(plan, [*new.values()]) if new else None
        with self._runs.run(query, limits, interpreter, told) as (answer, trouble, work):
            with contextlib.suppress(ValidationError):
                trouble = Done.model_validate(answer).error or ""
            known = sum(wheel.size for wheel in wheels.values() if wheel not in new.values())
            size = 0 if trouble else (sum(map(_readable, new)) + known) / 2**20
            if size > limits.one:
                trouble = f"takes {size:,.0f} MB on disk, limit is {limits.one:,} MB ({limits.source})"
                for place in new:  # do not keep wheels that are larger than their file lists state
                    shutil.rmtree(place, ignore_errors=True)
            if not trouble:
                _write(self._folder / "sets" / f"{digest}.json", plan.model_dump_json())
                (self._folder / digest).mkdir(exist_ok=True)
                (work / "site").rename(self._folder / digest / "site")
        return trouble

    def _environment(self, plan: Plan, digest: str) -> Environment:
        pins = tuple(sorted(wheel.pin for wheel in plan.wheels))
        return Environment(
            site=self._folder / digest / "site" if pins else None,
            hash=digest,
            python=plan.python,
            packages=pins,
            provided={name: pin for name, pin in plan.provided.items() if pin in pins},
            missing=plan.missing,
            incomplete=plan.incomplete,
        )

    def _key(self, wheel: Locked, interpreter: Interpreter) -> str:
        text = f"{self._tag(interpreter)} {wheel.pin} {wheel.sha256 or wheel.url}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _prune(self, limits: Quota) -> None:
        with self._alone(self._folder / _INSTALLING):
            prune(self._folder, limits.total)

    @contextlib.contextmanager
    def _alone(self, lock: Path) -> Iterator[None]:
        """Waits until other processes have released a lock, then acquires it."""
        lock.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(lock, wait=False) as held:
            if held:
                yield
                return
        self._notify(Installing(packages="another process's packages", total_mb=0, disk_mb=0, waiting=True))
        with file_lock(lock):
            yield


@functools.cache
def _version() -> str:
    """Returns a hash of the modules and tables that choose packages, so that a new version of xkg does not reuse old
    answers."""
    files = sorted(file for file in Path(__file__).parent.iterdir() if file.is_file())
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _empty(interpreter: Interpreter) -> Environment:
    python = None if interpreter == own() else interpreter.program
    return Environment(site=None, hash=set_hash((), interpreter.tag), python=python)


def on_cpu(environment: Environment) -> Environment:
    """Returns a copy of the environment in which CUDA code runs on the CPU."""
    if environment.cpu:
        return environment
    note = f"code for CUDA runs {IN_PLACE_OF_CUDA}"
    return environment.model_copy(update={"cpu": True, "notes": (*environment.notes, note)})


def _lacks(plan: Plan, request: _Request) -> tuple[int, int]:
    pins = [wheel.pin for wheel in plan.wheels]
    others = list(version_differences(request.hints(at(plan.python)), pins))
    return len(plan.missing), len(others) + len(plan.left_out)


def set_hash(wheels: Sequence[str] | Iterator[str], python: str | None = None) -> str:
    """Returns the id of a resolved set for an interpreter tag (xkg's own by default). The id consists of 16 hex
    digits."""
    return hashlib.sha256("\n".join([python or own().tag, *sorted(wheels)]).encode()).hexdigest()[:16]


def _version_notes(
    environment: Environment, plan: Plan, hints: Mapping[str, str], newest: str | None
) -> tuple[str, ...]:
    notes = []
    if environment.packages and newest and plan.day != newest:
        versions = f"from {plan.day}" if plan.day else "the newest"
        notes.append(f"packages are {versions}, because fewer of them, or of the pins, are available as of {newest}")
    if others := sorted(version_differences(hints, environment.packages)):
        too_new = f", or they were released after {plan.day}" if plan.day else ""
        why = f"no wheel for this Python, or they conflict with each other{too_new}"
        notes.append(f"versions that differ from those the repository asks for: {', '.join(others)} ({why})")
    notes += python_choice.where_wheels_are(plan.offers, at(plan.python).version)
    notes += [f"{name} is declared but not installed: {why}" for name, why in plan.left_out.items()]
    return tuple(notes)


def newest_of(written: str | None, interpreter: Interpreter | None = None) -> str | None:
    """Returns the day up to which package versions suit code that was written on the day `written`. This is the end of
    the half-year in which the code was written, so that repositories from the same half-year share their large
    packages. For code older than the interpreter's Python version, the day is half a year after that version's release.
    By that day, most packages had wheels for that Python version. Returns None if `written` is unknown."""
    interpreter = interpreter or own()
    try:
        day = date.fromisoformat(written or "")
    except ValueError:
        return None
    if day.isoformat() < python_choice.first_day(interpreter.minor):
        return date(2012 + interpreter.minor, 4, 1).isoformat()
    return date(day.year, 7, 1).isoformat() if day.month < 7 else date(day.year, 12, 31).isoformat()


def _readable(folder: Path) -> int:
    """Makes a folder readable by everyone, whatever file modes its wheels set. Returns the folder's size in bytes."""
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
