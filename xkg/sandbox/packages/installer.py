"""Runs inside the box, with the standard library only: asks uv which wheels a set of imports needs, looks into them
before they are downloaded, and installs them. Nothing of a package is run.

    python -c 'from xkg.sandbox.packages.installer import main; main()' request.json

`request["mode"]` is `plan` (imports → locked wheels, and what is missing) or `install` (locked wheels → folder). The
answer is written as JSON to `request["answer"]`; its fields are those of `environment.Plan` and `environment.Done`.
"""

import contextlib
import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from xkg.sandbox.guest.forward import forwarded
from xkg.sandbox.packages.toml_text import read_toml
from xkg.sandbox.packages.wheel_exports import foreign
from xkg.sandbox.packages.wheels import Contents, Failed, Unreachable, Wheel, contents, member

# conda-forge's table of import names, made anew by its bots for each of their packages; this wheel carries it as
# data. A fixed version, so that one question has one answer.
_NAMES = ("conda-pypi==0.13.1", "conda_pypi/grayskull_pypi_mapping.json")
_MAX_OTHERS = 100
_LONGEST_LOCK = 50_000_000  # uv writes every wheel of every package
_UNREACHABLE = ("tunnel", "connect", "dns error", "timed out", "error sending request", "server error", "end of file")


class Wanted(NamedTuple):
    """`guessed`: nothing but its own name leads from the module to the distribution; then `names` are what the code
    takes from the module."""

    module: str
    distribution: str
    hint: str = ""
    guessed: bool = False
    names: tuple[str, ...] = ()


class Uv:
    """`newest`: what was published after the end of that day is not seen."""

    def __init__(self, program: str, cache: str, newest: str | None = None) -> None:
        self.cache = cache
        self._base = (program, "pip")
        self._newest = ("--exclude-newer", newest) if newest else ()
        self._options = ("--no-config", "--only-binary", ":all:", "--no-progress", "--quiet")
        self._places = ("--python", sys.executable, "--cache-dir", cache)
        self._resolved: dict[tuple[str, ...], list[Wheel] | Failed] = {}

    def _run(self, *arguments: str, given: str) -> str:
        ran = subprocess.run(
            (*self._base, *arguments, *self._options, *self._places),
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode != 0:
            raise explained(ran.stderr)
        return ran.stdout

    def resolve(self, requirements: Iterable[str], *options: str) -> list[Wheel]:
        """The wheels of a set. Raises `Failed`."""
        given = tuple(requirements)
        if (*given, *options) not in self._resolved:
            try:
                self._resolved[*given, *options] = self._locked(given, options)
            except Failed as error:
                self._resolved[*given, *options] = error
        found = self._resolved[*given, *options]
        if isinstance(found, Failed):
            raise found
        return found

    def _locked(self, given: Sequence[str], options: Sequence[str]) -> list[Wheel]:
        written = self._run("compile", "-", "--format", "pylock.toml", *self._newest, *options, given="\n".join(given))
        return [
            Wheel(package["name"], package["version"], wheel["url"], wheel.get("hashes", {}).get("sha256", ""))
            for package in read_toml(written, _LONGEST_LOCK).get("packages", ())
            for wheel in package.get("wheels", ())[:1]
        ]

    def install(self, lines: Sequence[str], target: str) -> None:
        """Wheels that were locked, each with its hash, into a folder."""
        listed = Path("wheels.txt")
        listed.write_text("\n".join(lines))
        hashes = ("--require-hashes",) if all("--hash" in line for line in lines) else ()
        self._run("install", "-r", str(listed), "--target", target, "--no-deps", *hashes, given="")


def compile_all(folder: str) -> None:
    """Bytecode beside the sources, because jobs cannot write there. Without the packages' own tests, half of some; a
    file that does not compile stays as it is."""
    command = (sys.executable, "-m", "compileall", "-q", "-q", "-j", "0", "-x", "/tests?/", folder)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def explained(said: str) -> Failed:
    """uv's words as one short reason."""
    text = " ".join(said.split())
    lower = text.lower()
    if "was not found in the package registry" in lower:
        name = re.search(r"Because (\S+) was not found in the package registry", text)
        return Failed(f"no package {name[1]} in the registry" if name else "no such package in the registry")
    if "no wheels" in lower or "no usable wheels" in lower or "only-binary" in lower:
        return Failed("no wheel for this Python (nothing is built from source)")
    if any(word in lower for word in _UNREACHABLE) or re.search(r"\b(408|425|429|5\d\d) [a-z]", lower):
        return Unreachable("the package registry cannot be reached")
    cause = re.sub(r"^error: (No solution found when resolving dependencies )?(cause: )?", "", text)
    return Failed(cause[:240] or "uv failed and said nothing")


def plan(request: dict[str, Any], uv: Uv, dated: Uv | None = None) -> dict[str, Any]:
    """Which wheels to install for which imports, and why the others are missing; those that `dated` sees, unless more
    can be had without it. Raises `Unreachable`."""
    wanted = [
        Wanted(module, distribution, "", guessed, tuple(names))
        for module, distribution, guessed, names in request["wanted"]
    ]
    wanted = named(wanted, request["hints"], uv)
    some, missing = resolvable(wanted, dated or uv)
    if missing and dated:
        more, lost_without = resolvable(wanted, uv)
        if len(more) > len(some):
            some, missing, dated = more, lost_without, None
    wanted, uv = some, dated or uv
    used = {want.distribution for want in wanted}
    others = [hint for name, hint in sorted(request["hints"].items()) if name not in used][:_MAX_OTHERS]
    inspected: dict[Wheel, Contents] = {}
    asked_besides: dict[str, Wanted] = {}

    def inspect(wheels: list[Wheel]) -> None:
        new = [wheel for wheel in wheels if wheel not in inspected]
        with ThreadPoolExecutor(8) as pool:
            inspected.update(zip(new, pool.map(contents, new), strict=True))

    def closure(some: Sequence[Wanted]) -> list[Wheel]:
        wheels = uv.resolve(requirements(some)) if some else []
        if found := {wheel.name for wheel in wheels} & asked_besides.keys():
            wheels = uv.resolve(requirements([*some, *(asked_besides[name] for name in sorted(found))]))
        inspect(wheels)
        return wheels

    strangers = strange(wanted, closure(wanted), inspected)
    missing |= {want.module: reason for want, reason in strangers.items()}

    # What the tables and the name do not lead to may be in one of the repository's own requirements.
    for hint in others if missing else ():
        try:
            own = uv.resolve([hint], "--no-deps")
        except Unreachable:
            raise
        except Failed:
            continue
        inspect(own)
        for wheel in own:
            for module in sorted((inspected[wheel].modules or frozenset()) & missing.keys()):
                wanted.append(Wanted(module, wheel.name, hint))
                del missing[module]
    wanted = [want for want in wanted if want not in strangers]
    wanted, lost = resolvable(wanted, uv)
    missing |= lost
    asked_besides |= besides(wanted, others, uv)
    wheels = closure(wanted)

    limit = request["max_mb"] << 20
    while wanted and sum(inspected[wheel].size for wheel in wheels) > limit:
        sizes = {want: sum(inspected[wheel].size for wheel in closure([want])) for want in wanted}
        largest = max(wanted, key=lambda want: sizes[want])
        needs = f"{round(sizes[largest] / 1e6, -1 if sizes[largest] < 1e9 else -2):,.0f}"
        missing[largest.module] = f"needs about {needs} MB, limit is {request['max_mb']:,} MB (environment.max_mb)"
        wanted.remove(largest)
        wheels = closure(wanted)
    return {
        "wheels": [{**wheel._asdict(), "size": inspected[wheel].size} for wheel in wheels],
        "missing": missing,
        "unreachable": False,
        "dated": dated is not None,
    }


def named(wanted: Sequence[Wanted], hints: Mapping[str, str], uv: Uv) -> list[Wanted]:
    """`wanted` with the distributions that conda-forge's table knows for what was guessed, those that the repository
    asks for before others, and with the versions it asks for. Raises `Unreachable`."""
    table = known_names(uv) if any(want.guessed for want in wanted) else {}
    found = []
    for want in wanted:
        choices = table.get(want.module, ()) if want.guessed else ()
        asked = [name for name in choices if name in hints]
        if asked or (choices and want.distribution not in choices):
            want = want._replace(distribution=(asked or sorted(choices, key=len))[0], guessed=False)
        found.append(want._replace(hint=hints.get(want.distribution, "")))
    return found


def known_names(uv: Uv) -> dict[str, list[str]]:
    """conda-forge's table: import name → distributions. Empty where the registry does not have it."""
    requirement, path = _NAMES
    kept = Path(uv.cache, f"{requirement}.json")
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(kept.read_text()))
    table: dict[str, list[str]] = {}
    try:
        listed = json.loads(member(uv.resolve([requirement], "--no-deps")[0], path) or b"{}")
        for entry in listed.values():
            table.setdefault(str(entry["import_name"]), []).append(str(entry["pypi_name"]))
    except Unreachable:
        raise
    except (Failed, ValueError, LookupError, TypeError, AttributeError):
        return {}
    if table:
        with contextlib.suppress(OSError):
            kept.write_text(json.dumps(table))
    return table


def strange(wanted: Sequence[Wanted], wheels: Sequence[Wheel], found: Mapping[Wheel, Contents]) -> dict[Wanted, str]:
    """Those of `wanted` that the wheels do not provide, and those that only share the name of what they provide."""
    provided = frozenset().union(*(found[wheel].modules or () for wheel in wheels))
    unread = any(found[wheel].modules is None for wheel in wheels)
    own = {wheel.name: wheel for wheel in wheels}
    strangers = {}
    for want in wanted:
        wheel = own.get(want.distribution)
        if want.module not in provided:
            if not unread:
                strangers[want] = f"the package {want.distribution} does not provide it"
        elif (
            want.guessed
            and wheel
            and want.module in (found[wheel].modules or ())
            and foreign(want.module, want.names, found[wheel].files, functools.partial(member, wheel))
        ):
            lacks = " and no ".join(want.names[:3])
            strangers[want] = f"the registry's {wheel.name} is another project: it has no {lacks}"
    return strangers


def requirements(wanted: Iterable[Wanted]) -> list[str]:
    return sorted({want.hint or want.distribution for want in wanted})


def resolvable(wanted: list[Wanted], uv: Uv) -> tuple[list[Wanted], dict[str, str]]:
    """The largest part of `wanted` that resolves together, found in few steps, and why the rest does not. Versions
    that the repository asks for are kept where they resolve; where they do not, the next later one that does is taken
    (code of an old Python is nearer to it than to the newest), else any. Raises `Unreachable`."""
    with contextlib.suppress(_Unsolved):
        _solve(wanted, uv)
        return wanted, {}
    missing: dict[str, str] = {}
    alone: list[Wanted] = []
    with ThreadPoolExecutor(4) as pool:
        for want, found in zip(wanted, pool.map(lambda want: _alone(want, uv), wanted), strict=True):
            if isinstance(found, Wanted):
                alone.append(found)
            else:
                missing[want.module] = found
    with contextlib.suppress(_Unsolved):
        _solve(alone, uv)
        return alone, missing
    together, lost = _together(alone, uv)
    if lost:
        free = [want._replace(hint="") for want in alone]
        with contextlib.suppress(_Unsolved):
            _solve(free, uv)
            return free, missing
    return together, missing | lost


def besides(wanted: Sequence[Wanted], others: Sequence[str], uv: Uv) -> dict[str, Wanted]:
    """What the repository asks of packages that it does not import itself but that come along, by name, as far as it
    fits (`_later` where that version has no wheel)."""
    kept: dict[str, Wanted] = {}
    names = {wheel.name for wheel in uv.resolve(requirements(wanted))} if wanted else set()
    for hint in others:
        name = re.split(r"[^\w.-]", hint, maxsplit=1)[0]
        if name in names and name != hint:
            want = Wanted("", name, hint)
            found = _first(chain([want], _later(want, uv)), [*wanted, *kept.values()], uv)
            if isinstance(found, Wanted):
                kept[name] = found
    return kept


def _together(wanted: Sequence[Wanted], uv: Uv) -> tuple[list[Wanted], dict[str, str]]:
    """One after the other, each with its version if that fits to those before, else without, else left out."""
    together: list[Wanted] = []
    lost: dict[str, str] = {}
    for want in wanted:
        found = _first([want, want._replace(hint="")], together, uv)
        if isinstance(found, Wanted):
            together.append(found)
        else:
            lost[want.module] = found
    return together, lost


def _alone(want: Wanted, uv: Uv) -> Wanted | str:
    """`want` by itself, with another version or none if need be, or why it cannot be had."""
    return _first(chain([want], _later(want, uv), [want._replace(hint="")]), [], uv)


def _later(want: Wanted, uv: Uv) -> Iterator[Wanted]:
    """The first version behind the one asked for that has a wheel."""
    if asked := re.fullmatch(r"[\w.-]+==(\d[\w.]*?)(\.\*)?", want.hint):
        with contextlib.suppress(Failed):
            lowest = ("--no-deps", "--resolution", "lowest-direct")
            for wheel in uv.resolve([f"{want.distribution}>={asked[1]}"], *lowest):
                yield want._replace(hint=wheel.pin)


def _first(choices: Iterable[Wanted], beside: Sequence[Wanted], uv: Uv) -> Wanted | str:
    """The first choice that resolves beside the others, or why the last does not."""
    reason = ""
    for one in choices:
        try:
            _solve([*beside, one], uv)
            return one
        except _Unsolved as error:
            reason = str(error)
    return reason


class _Unsolved(Exception):
    pass


def _solve(wanted: Sequence[Wanted], uv: Uv) -> None:
    try:
        if wanted:
            uv.resolve(requirements(wanted))
    except Unreachable:
        raise
    except Failed as error:
        raise _Unsolved(str(error)) from error


def install(request: dict[str, Any], uv: Uv) -> dict[str, Any]:
    try:
        uv.install(request["lines"], request["target"])
    except Failed as error:
        return {"error": str(error)}
    compile_all(request["target"])
    return {"error": None}


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    uv = Uv(request["uv"], request["cache"])
    newest = request.get("newest")
    dated = Uv(request["uv"], request["cache"], newest) if newest else None
    with forwarded(request["socket"]) if request["socket"] else contextlib.nullcontext():
        try:
            answer = plan(request, uv, dated) if request["mode"] == "plan" else install(request, uv)
        except Unreachable as error:
            missing = {entry[0]: str(error) for entry in request["wanted"]}
            answer = {"wheels": [], "missing": missing, "unreachable": True}
    Path(request["answer"]).write_text(json.dumps(answer))
