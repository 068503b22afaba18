"""Asks uv which wheels a set of imports needs, inspects the wheels before downloading them, and installs them. Runs
inside the sandbox, uses only the standard library, and runs no package code.

python -c 'from xkg.sandbox.packages.installer import main; main()' request.json

`request["mode"]` is `plan`, `install` or `fetch`. `plan` turns imports and declared packages into locked wheels and a
list of missing imports. `install` unpacks and compiles each locked wheel once in a store, and installs it from the
store in a folder. `fetch` downloads a source distribution and reads its build requirements. The answer is written as
JSON to `request["answer"]`, with the fields of `plan.Plan`, `plan.Done` or `plan.Fetched`."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

from xkg.sandbox.guest.forward import forwarded
from xkg.sandbox.packages.source_files import build_requirements, fetched
from xkg.sandbox.packages.uv_pip import Uv, name_of
from xkg.sandbox.packages.wheels import Contents, Failed, Unreachable, Wheel, contents, lacks, member

# This wheel contains conda-forge's table of import names, which its bots generate from packages.
# The version is pinned so that equal requests get equal answers.
_NAMES = ("conda-pypi==0.13.1", "conda_pypi/grayskull_pypi_mapping.json")
_MAX_OTHERS = 100
_SMALL = 4 << 20
"""Larger wheels are not downloaded to compare names."""
_MOST_OFFERS = 12
_SIDE_BY_SIDE = 4


class Wanted(NamedTuple):
    """An import that the code needs. `guessed` means that the distribution was only inferred from the module's name.
    `names` are the names that the code imports from the module."""

    module: str
    distribution: str
    hint: str = ""
    guessed: bool = False
    names: tuple[str, ...] = ()


def compile_all(folder: str, interpreter: str) -> None:
    """Writes bytecode next to the sources, because jobs cannot write to that folder. Skips files that do not compile,
    and packages' own tests, which make up half of some packages."""
    command = (interpreter, "-I", "-m", "compileall", "-q", "-q", "-j", "0", "-x", "/tests?/", folder)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def _megabytes(size: int) -> str:
    """Formats a size in megabytes. The size is rounded up, so that a size above the limit is never printed as equal to
    the limit."""
    step = 10 if size < 1000 << 20 else 100
    return f"{-(-size // (step << 20)) * step:,}"


def plan(request: dict[str, Any], uv: Uv, dated: Uv | None = None) -> dict[str, Any]:
    """Chooses the wheels to install for the imports, and gives a reason for each missing import. Uses the versions that
    were available on the day of `dated`, or on a later day by which all pinned versions were available. If
    `uv` provides more imports, uses versions from the first day on which all of them are available. Raises
    `Unreachable` if the registry cannot be reached."""
    wanted = [Wanted(module, name, "", guessed, tuple(used)) for module, name, guessed, used in request["wanted"]]
    wanted = with_known_distributions(wanted, request["hints"], uv)
    if dated:
        dated = dated.until(max(dated.newest, day_of_pins(request["hints"].values(), uv)))
    asked_of = [each for each in (dated, uv) if each]
    some, missing = resolvable(wanted, dated or uv)
    if missing and dated:
        more, lost = resolvable(wanted, uv)
        if len(more) > len(some):
            dated = uv.until(uv.first_day(want.distribution for want in more if want.module in missing))
            asked_of.insert(1, dated)
            some, missing = resolvable(wanted, dated)
            if len(some) < len(more):
                some, missing, dated = more, lost, None
    wanted, uv = some, dated or uv
    used = {want.distribution for want in wanted}
    others = [hint for name, hint in sorted(request["hints"].items()) if name not in used][:_MAX_OTHERS]
    inspected: dict[Wheel, Contents] = {}
    indirect: dict[str, Wanted] = {}

    def inspect(wheels: list[Wheel]) -> None:
        new = [wheel for wheel in wheels if wheel not in inspected]
        with ThreadPoolExecutor(8) as pool:
            inspected.update(zip(new, pool.map(lambda wheel: contents(wheel, uv.cache), new), strict=True))

    def closure(some: Sequence[Wanted]) -> list[Wheel]:
        wheels = uv.resolve(requirements(some)) if some else []
        if present := {wheel.name for wheel in wheels} & indirect.keys():
            wheels = uv.resolve(requirements([*some, *(indirect[name] for name in sorted(present))]))
        inspect(wheels)
        return wheels

    def size(some: Sequence[Wanted]) -> int:
        return sum(inspected[wheel].size for wheel in closure(some))

    def too_large(some: list[Wanted], beside: Sequence[Wanted] = ()) -> dict[str, str]:
        """Removes the largest packages from `some` until the rest fits the size limit. Returns the reasons."""
        reasons = {}
        while some and (together := size([*beside, *some])) > request["max_mb"] << 20:
            sizes = {want: size([want]) for want in some}
            largest = max(some, key=lambda want: sizes[want])
            reasons[largest.module] = (
                f"needs about {_megabytes(sizes[largest])} MB (all packages: {_megabytes(together)} MB), "
                f"limit is {request['max_mb']:,} MB ({request['limited_by']})"
            )
            some.remove(largest)
        return reasons

    unprovided = unprovided_imports(wanted, closure(wanted), inspected)
    missing |= {want.module: reason for want, reason in unprovided.items()}

    # A module that cannot be resolved by the tables or by its name may be in one of the repository's own requirements.
    aside = uv.aside()  # collects requirements that have no wheel and are not needed for an import
    own = _available(others, aside) if missing else []
    inspect(own)
    for wheel in own:
        for module in sorted((inspected[wheel].modules or frozenset()) & missing.keys()):
            wanted.append(Wanted(module, wheel.name, request["hints"][wheel.name]))
            del missing[module]
    wanted, lost = resolvable([want for want in wanted if want not in unprovided], uv)
    missing |= lost
    # Apply requested versions to packages that are installed only as dependencies.
    names = {wheel.name for wheel in closure(wanted)}
    asked = [Wanted("", name_of(hint), hint) for hint in others if name_of(hint) in names - {hint}]
    indirect |= {want.distribution: want for want in _together(asked, aside, wanted)[0] if want.hint}

    without = too_large(wanted)
    find_hidden_sources(wanted, closure(wanted), uv)
    present = {wheel.name for wheel in closure(wanted)}
    asked = [Wanted(name, name, request["hints"][name]) for name in request["declared"] if name not in present]
    declared, left_out = _together(asked, uv, [*wanted, *indirect.values()])
    # Declared tools may have been published after the code was written.
    if younger := [want for want in asked if uv.newest and not left_out.get(want.module, "no ").startswith("no ")]:
        uv = uv.of_any_day([want.distribution for want in younger])
        more, lost = _together(younger, uv, [*wanted, *indirect.values(), *declared])
        declared += more
        left_out = {name: why for name, why in left_out.items() if name not in {want.module for want in younger}} | lost
    left_out |= too_large(declared, wanted)
    wheels = closure([*wanted, *declared])
    return {
        "wheels": [
            {**wheel._asdict(), "size": inspected[wheel].size, "download": inspected[wheel].download}
            for wheel in wheels
        ],
        "missing": missing | without,
        "left_out": left_out,
        "provided": providers(wanted, wheels, inspected),
        "incomplete": bool(without),
        "day": uv.newest,
        "offers": offers(request, asked_of),
    }


def day_of_pins(hints: Iterable[str], uv: Uv) -> str:
    """Returns the first day on which all pinned versions were available, or '' if it is unknown. Ignores pins without a
    wheel. Raises `Unreachable` if the registry cannot be reached."""
    aside = uv.aside()
    pins = [hint for hint in sorted(hints) if "==" in hint][:_MAX_OTHERS]
    return aside.first_day(wheel.pin for wheel in _available(pins, aside)) if pins else ""


def find_hidden_sources(wanted: Sequence[Wanted], wheels: Sequence[Wheel], uv: Uv) -> None:
    """Adds dependencies to `without_wheel` if their missing wheels prevent the newest version of a package from being
    installed. For example, uv chooses an old hydra-core that does not need antlr4. Raises `Unreachable` if the registry
    cannot be reached."""
    chosen = {wheel.name: wheel for wheel in wheels}
    free = {want.distribution: want for want in wanted if want.hint in ("", want.distribution)}
    for newest in _available(sorted(free), uv):
        if newest.name in chosen and newest.version != chosen[newest.name].version.partition("+")[0]:
            _why_not([free[newest.name]._replace(hint=newest.pin)], uv)


def offers(request: dict[str, Any], asked: Sequence[Uv]) -> list[dict[str, Any]]:
    """For requirements without a wheel, returns alternatives in the versions that the repository asks for."""
    lacking: dict[str, Uv] = {}
    for uv in asked:
        for line in uv.without_wheel:
            lacking.setdefault(request["hints"].get(line, line), uv)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return list(pool.map(lambda of: of[1].offer(of[0], request["pythons"]), list(lacking.items())[:_MOST_OFFERS]))


def with_known_distributions(wanted: Sequence[Wanted], hints: Mapping[str, str], uv: Uv) -> list[Wanted]:
    """Returns `wanted` with the repository's required versions, and with guessed distributions replaced using
    conda-forge's table. Distributions that the repository requires take precedence. Raises `Unreachable` if the
    registry cannot be reached."""
    table = known_names(uv) if any(want.guessed for want in wanted) else {}
    resolved = []
    for want in wanted:
        choices = table.get(want.module, ()) if want.guessed else ()
        required = [name for name in choices if name in hints]
        if required or (choices and want.distribution not in choices):
            want = want._replace(distribution=(required or sorted(choices, key=len))[0], guessed=False)
        resolved.append(want._replace(hint=hints.get(want.distribution, "")))
    return resolved


def known_names(uv: Uv) -> dict[str, list[str]]:
    """Returns conda-forge's table, which maps import names to distributions. Returns an empty table if the registry has
    none."""
    requirement, path = _NAMES
    cached = Path(uv.cache, f"{requirement}.json")
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(cached.read_text()))
    table: dict[str, list[str]] = {}
    try:
        listed = json.loads(member(uv.resolve([requirement], "--no-deps")[0], path))
        for entry in listed.values():
            table.setdefault(str(entry["import_name"]), []).append(str(entry["pypi_name"]))
    except Unreachable:
        raise
    except (Failed, OSError, ValueError, LookupError, TypeError, AttributeError, BadZipFile):
        return {}
    if table:
        with contextlib.suppress(OSError):
            cached.write_text(json.dumps(table))
    return table


def unprovided_imports(
    wanted: Sequence[Wanted], wheels: Sequence[Wheel], inspected: Mapping[Wheel, Contents]
) -> dict[Wanted, str]:
    """Returns the imports in `wanted` that the wheels do not provide, with the reasons. For example, a wheel may belong
    to an unrelated project with the same name."""
    modules = {wheel: inspected[wheel].modules for wheel in wheels}
    provided = frozenset().union(*(found or () for found in modules.values()))
    own = {wheel.name: wheel for wheel in wheels if inspected[wheel].download < _SMALL}
    reasons = {}
    for want in wanted:
        wheel = own.get(want.distribution)
        if want.module not in provided:
            if None not in modules.values():
                reasons[want] = f"the package {want.distribution} does not provide it"
        elif want.guessed and want.names and wheel and lacks(wheel, want.module, want.names):
            reasons[want] = (
                f"the registry's {wheel.name} is a different project: it has no {' and no '.join(want.names[:3])}"
            )
    return reasons


def providers(wanted: Iterable[Wanted], wheels: Sequence[Wheel], inspected: Mapping[Wheel, Contents]) -> dict[str, str]:
    """Returns the pin of the wheel that provides each import, preferably from its own distribution."""
    found: dict[str, str] = {}
    for want in wanted:
        having = [wheel for wheel in wheels if want.module in (inspected[wheel].modules or ())]
        if having:
            found[want.module] = min(having, key=lambda wheel: wheel.name != want.distribution).pin
    return found


def requirements(wanted: Iterable[Wanted]) -> list[str]:
    return sorted({want.hint or want.distribution for want in wanted})


def resolvable(wanted: list[Wanted], uv: Uv) -> tuple[list[Wanted], dict[str, str]]:
    """Returns a large subset of `wanted` that uv can resolve together, and the reasons for dropping the other imports.
    Prefers the versions required by the repository, then the next later versions that resolve, then any version. For an
    old Python, the next later versions are closer to the required versions than the newest versions. If some packages
    would be lost, drops all version requirements. Raises `Unreachable` if the registry cannot be reached."""
    together, lost = _together(wanted, uv)
    possible = [want._replace(hint="") for want in wanted if want.module not in lost or not _why_not([want], uv)]
    if len(possible) > len(together) and not _why_not(possible, uv):
        found = {want.module for want in possible}
        return possible, {module: why for module, why in lost.items() if module not in found}
    return together, lost


def _together(wanted: Sequence[Wanted], uv: Uv, beside: Sequence[Wanted] = ()) -> tuple[list[Wanted], dict[str, str]]:
    """Returns a large subset of `wanted` that uv can resolve together with `beside`, and the reasons for dropping the
    other imports. A list that cannot be resolved is split into halves, which are tried separately. This way, finding a
    few bad requirements among many takes only a few runs of uv."""
    if not _why_not([*beside, *wanted], uv):
        return list(wanted), {}
    if len(wanted) == 1:
        for choice in (*_later(wanted[0], uv), wanted[0]._replace(hint="")):
            if not (why := _why_not([*beside, choice], uv)):
                return [choice], {}
        return [], {wanted[0].module: why}
    half = len(wanted) // 2
    first, lost = _together(wanted[:half], uv, beside)
    rest, also_lost = _together(wanted[half:], uv, [*beside, *first])
    return [*first, *rest], lost | also_lost


def _available(lines: Sequence[str], uv: Uv) -> list[Wheel]:
    """Returns the available wheels for the requirements, without wheels for dependencies. Raises `Unreachable` if the
    registry cannot be reached."""
    try:
        return uv.resolve(lines, "--no-deps") if lines else []
    except Unreachable:
        raise
    except Failed:
        middle = len(lines) // 2
        return [*_available(lines[:middle], uv), *_available(lines[middle:], uv)] if middle else []


def _later(want: Wanted, uv: Uv) -> list[Wanted]:
    """Returns `want` with the first version after the required one that has a wheel, if there is one."""
    name, _, version = want.hint.partition("==")
    if not (pin := re.fullmatch(r"(\d[\w.]{0,60}?)(\.\*)?", version)):
        return []
    try:
        wheels = uv.resolve([f"{name}>={pin[1]}"], "--resolution", "lowest-direct")
    except Failed:
        return []
    return [want._replace(hint=f"{name}=={wheel.version}") for wheel in wheels if wheel.name == want.distribution]


def _why_not(wanted: Sequence[Wanted], uv: Uv) -> str:
    """Returns the reason why uv cannot resolve these requirements together, or ''. Raises `Unreachable` if the registry
    cannot be reached."""
    try:
        if wanted:
            uv.resolve(requirements(wanted))
    except Unreachable:
        raise
    except Failed as error:
        return str(error)
    return ""


def install(request: dict[str, Any], uv: Uv) -> dict[str, Any]:
    """Unpacks the wheels that are not in the store, in parallel, and links all wheels' files into the target."""
    store, unpacking, target = (Path(request[name]) for name in ("store", "unpacking", "target"))
    lacking = [(key, line) for key, line in request["wheels"] if not (store / key).is_dir()]
    os.umask(0o022)

    def unpack(wheel: tuple[str, str]) -> None:
        key, line = wheel
        uv.unpack(line, unpacking / key)
        compile_all(str(unpacking / key), request["interpreter"])
        (unpacking / key).rename(store / key)

    try:
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            list(pool.map(unpack, lacking))
        target.mkdir()
        for key, _ in request["wheels"]:
            os.utime(store / key)
            _link(store / key, target)
    except (Failed, OSError) as error:
        return {"error": str(error)}
    return {"error": None}


def _link(wheel: Path, target: Path) -> None:
    for parent, folders, names in os.walk(wheel):
        place = target / Path(parent).relative_to(wheel)
        for name in folders:
            (place / name).mkdir(exist_ok=True)
        for name in names:
            try:
                (place / name).hardlink_to(Path(parent) / name)
            except FileExistsError:
                continue
            except OSError:  # the file system does not support hard links
                shutil.copy2(Path(parent) / name, place / name, follow_symlinks=False)


def fetch(request: dict[str, Any]) -> dict[str, Any]:
    """Fetches a source distribution without running any of its code."""
    try:
        place = fetched(request["url"], request["sha256"], Path(request["target"]), request["max_mb"] << 20)
        return {"error": None, "file": place.name, "requires": build_requirements(place)}
    except (Failed, OSError) as error:
        return {"error": str(error)}


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    newest = request.get("newest")
    settings = (request.get("cpu"), request["python"], request.get("built", ()), request.get("failed"))
    uv = Uv(request["uv"], request["cache"], None, *settings)
    dated = Uv(request["uv"], request["cache"], newest, *settings) if newest else None
    with forwarded(request["socket"]) if request["socket"] else contextlib.nullcontext():
        try:
            if request["mode"] == "plan":
                answer = plan(request, uv, dated)
            else:
                answer = install(request, uv) if request["mode"] == "install" else fetch(request)
        except Unreachable as error:
            missing = {entry[0]: str(error) for entry in request["wanted"]}
            answer = {"wheels": [], "missing": missing, "incomplete": True}
    Path(request["answer"]).write_text(json.dumps(answer))
