"""Determines the levels of code nodes. Tries package versions from other dates if the repository's pinned versions do
not work together."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from xkg.build.requirements import without_versions
from xkg.build.slicing.scoping.imported_names import imported_names
from xkg.model import Code, Evidence, Level
from xkg.sandbox.diagnosis.completion import Completion
from xkg.sandbox.evidence.failure_causes import missing_packages
from xkg.sandbox.evidence.levels import prove
from xkg.sandbox.evidence.static_checks import check_parsed
from xkg.sandbox.isolation.interpreters import installed
from xkg.sandbox.packages.disk_quota import in_use
from xkg.sandbox.packages.python_choice import version_of
from xkg.sandbox.runner import Environment, Limits, Runner
from xkg.value import Value

Make = Callable[[Mapping[str, Sequence[str]], Sequence[str], str | None], Environment]

_ON_PYTHON = re.compile(r"python==")
_REMOVED_FROM_PYTHON = re.compile(
    r"cannot import name '\w{1,100}+' from '(\w{1,100}+)|module '(\w{1,100}+)[\w.]{0,100}+' has no attribute"
)
_FRAME = re.compile(r'^[^\S\n]*+File "([^"]*)", line \d+', re.M)


class Checked(Value):
    """Code nodes with their levels, in the original order. `final` is False if another run may reach a higher level."""

    code: tuple[Code, ...]
    final: bool
    notes: tuple[str, ...]


def check_with_packages(
    candidates: Sequence[Code],
    runner: Runner | None,
    limits: Limits,
    make: Make,
    requirements: Sequence[str],
    written: str | None,
) -> Checked:
    """Checks code with the packages that it imports, in the versions pinned by the repository or else those from the
    date `written`.

    A node that needs another module at run time is retried with that module's package. A node that fails inside a
    package is retried up to three times: without the repository's versions, with the newest versions, and then on the
    Python version that was current on the date `written`. The last attempt also includes nodes that use a feature that
    their Python version no longer has. `make` works like `EnvironmentMaker.make`."""
    environment = make(_imports(candidates), requirements, written)
    with in_use(environment):
        code = check_code(candidates, runner, environment, limits)
    code, environment = _completed(
        code, environment, runner, limits, lambda imports: make(imports, requirements, written), _imports(candidates)
    )
    final, notes = not environment.incomplete, list(environment.notes)
    tried = {environment.hash}
    for lines, day, how in other_versions(requirements, written):
        older = any(_ON_PYTHON.match(line) for line in lines)
        failing = [n for n in code if failed_in_package(n, environment) or (older and failed_in_python(n))]
        if environment.incomplete:
            break
        if not failing:
            continue
        other = make(_imports(failing), lines, day)
        if other.hash in tried or other.site is other.python is None:
            continue
        tried.add(other.hash)
        with in_use(other):
            again = {node.id: node for node in check_code(failing, runner, other, limits)}
        better = {key: node for key, node in again.items() if node.level.rank > Level.PARSED.rank}
        if better:
            why = next(e.reason for node in failing for e in node.evidence if e.reason)
            versions = _some(other, better.values())
            share = f"{len(better)} of {len(code)} code nodes"
            notes.append(f"{share} can be imported with packages {how} ({versions}); the first attempt failed: {why}")
        code = tuple(better.get(node.id, node) for node in code)
    return Checked(code=code, final=final, notes=(*unavailable_packages(code, environment), *notes))


def _completed(
    code: tuple[Code, ...],
    environment: Environment,
    runner: Runner | None,
    limits: Limits,
    make: Callable[[Mapping[str, Sequence[str]]], Environment],
    imports: Mapping[str, Sequence[str]],
) -> tuple[tuple[Code, ...], Environment]:
    """Returns the nodes and their environment, extended with any modules that were missing at run time."""
    completion = Completion(lambda modules: make({**dict.fromkeys(modules, ()), **imports}))
    while failing := [node for node in code if node.evidence[-1].exit_code not in (0, None)]:
        outputs = (node.evidence[-1].output_end for node in failing)
        completed = next(filter(None, (completion.after(output, environment) for output in outputs)), None)
        if completed is None:
            break
        environment = completed
        lacking = [n for n in failing if set(missing_packages(n.evidence[-1].output_end)) & set(completion.modules)]
        with in_use(environment):
            again = {node.id: node for node in check_code(lacking, runner, environment, limits)}
        code = tuple(again.get(node.id, node) for node in code)
    return code, environment


def other_versions(requirements: Sequence[str], written: str | None) -> list[tuple[list[str], str | None, str]]:
    """Returns alternatives to the repository's pinned versions. Each alternative has requirement lines, a date and a
    description."""
    free = without_versions(requirements)
    others: list[tuple[list[str], str | None, str]] = []
    if free != list(requirements):
        others.append((free, written, "not pinned to the repository's versions"))
    if written:
        others.append((free, None, "in their newest versions"))
    if (version := version_of(written)) in installed():
        how = f"on Python {version}, the current version when the code was written"
        others.append(([f"python=={version}.*", *free], written, how))
    return others


def _imports(nodes: Sequence[Code]) -> dict[str, tuple[str, ...]]:
    """Returns the packages that code imports, if the code parses. Packages imported only by broken code are not
    fetched."""
    sound = [node for node in nodes if check_parsed(node.implementation).level is Level.PARSED]
    used = imported_names(node.implementation for node in sound)
    return {package: used.get(package, ()) for node in sound for package in node.packages}


def failed_in_package(node: Code, environment: Environment) -> bool:
    """Returns whether an installed package failed on import or raised an error inside a call."""
    if node.level is not Level.PARSED or not node.evidence or node.evidence[-1].runner is None:
        return False
    evidence = node.evidence[-1]
    if evidence.missing:
        return not environment.missing.keys() >= set(evidence.missing)
    frames = _FRAME.findall(evidence.output_end)
    return bool(frames) and evidence.exit_code not in (0, None) and frames[-1].startswith("/site/")


def failed_in_python(node: Code) -> bool:
    """Returns whether the code uses a feature that its Python version no longer has, such as `from collections import
    Mapping`."""
    reason = node.evidence[-1].reason if node.evidence else None
    match = _REMOVED_FROM_PYTHON.search(reason or "")
    return match is not None and (match[1] or match[2]) in sys.stdlib_module_names


def _some(environment: Environment, nodes: Iterable[Code]) -> str:
    """Returns the names and versions of the packages that the nodes import directly."""
    imported = {package.lower().replace("_", "-") for node in nodes for package in node.packages}
    own = [pin.replace("==", " ") for pin in environment.packages if pin.partition("==")[0].lower() in imported]
    return ", ".join(own or [pin.replace("==", " ") for pin in environment.packages[:6]])


def unavailable_packages(code: Sequence[Code], environment: Environment, offered: Collection[str] = ()) -> list[str]:
    """Returns a line for each reason why packages are unavailable, with its effect. Unavailable packages that no code
    node needs are on separate lines. Packages that were only `offered` are omitted unless a code node needs them."""
    needing = Counter(name for node in code for evidence in node.evidence for name in evidence.missing)
    reasons: dict[tuple[str, bool], list[str]] = {}
    for name in sorted(needing.keys() | (environment.missing.keys() - set(offered))):
        why = environment.missing.get(name, "cannot be imported in this version")
        reasons.setdefault((why, name in needing), []).append(name)
    notes = []
    for (why, _), names in reasons.items():
        count = sum(any(set(names) & set(e.missing) for e in node.evidence) for node in code)
        nodes = "1 code node stays" if count == 1 else f"{count} code nodes stay"
        if not count:
            nodes = "no code node stays" if any(set(names) & set(node.packages) for node in code) else ""
        cost = f"{nodes} at 'parsed' without it" if nodes else "no code node imports it"
        what = f"package {names[0]}" if len(names) == 1 else f"packages {', '.join(names)}"
        again = "; the next build will try again" if environment.incomplete else ""
        notes.append(f"{what} not available: {why}; {cost}{again}")
    return notes


_SIDE_BY_SIDE = 2


def check_code(
    candidates: Sequence[Code], runner: Runner | None, environment: Environment, limits: Limits
) -> tuple[Code, ...]:
    """Returns the same code nodes with `level` and `evidence` set. Only Python code is run, and only if there is a
    runner. The evidence of other nodes says that they were not run.

    Raises `SandboxUnavailableError` if the runner does."""

    def check(candidate: Code) -> Code:
        if candidate.language != "python":
            reason = f"not tried: {candidate.language} code, since only Python is sliced and run"
            evidence = Evidence(
                level=Level.NONE, reason=reason, checked_at=datetime.now(UTC).isoformat(timespec="seconds")
            )
        elif runner is None:
            evidence = check_parsed(candidate.implementation)
            if evidence.level is Level.PARSED:
                evidence = evidence.model_copy(update={"reason": "not run: no sandbox on this machine (xkg doctor)"})
        else:
            ran = prove(candidate, runner, environment, limits).evidence
            evidence = ran.model_copy(update={"distributions": environment.providers(candidate.packages)})
        return candidate.model_copy(update={"level": evidence.level, "evidence": (evidence,)})

    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return tuple(pool.map(check, candidates))
