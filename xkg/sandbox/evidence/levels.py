"""Determines the highest level that a code node reaches, step by step. `executed` and `tested` require a test.

Printed output is not trusted. When an import or a test completes, the harness (`guest.run_test`) prints a random token
for the run. The token is accepted only if the process then exits with 0. The test and its code share a process with the
harness, so `tampering` rejects code that could read the token through frames, process memory or `ctypes`. Code can
still forge a level if it hides such access from the syntax tree."""

import ast
from collections.abc import Sequence

from xkg.clock import stamp
from xkg.model import KILLED_SHARE, Code, Evidence, Level, Survivor
from xkg.sandbox.evidence.equivalence import MOST_EXCUSED, equivalent
from xkg.sandbox.evidence.failure_causes import Cause, cause_of
from xkg.sandbox.evidence.harness_runs import (
    FailsAtTimesError,
    HarnessRun,
    HarnessRuns,
    Interrupted,
    NotSettledError,
    Stopped,
    why_failed,
)
from xkg.sandbox.evidence.mutation import Change, body_lines, mutants, plain_newlines, statements_run, stubs
from xkg.sandbox.evidence.own_statements import own_lines
from xkg.sandbox.evidence.python_ast import statements_of, syntax_tree
from xkg.sandbox.evidence.run_slots import RunSlots
from xkg.sandbox.evidence.static_checks import check_parsed, lacking, missing_package
from xkg.sandbox.evidence.tampering import Reach, tampering
from xkg.sandbox.evidence.tracebacks import end_of_output
from xkg.sandbox.runner import IN_PLACE_OF_CUDA, Environment, Limits, Runner
from xkg.value import Value

__all__ = ["ENOUGH_MUTANTS", "MUTANTS", "MUTATION_SECONDS", "Interrupted", "Proof", "Stopped", "prove"]

# Limits the total time of all runs after the first, excluding waiting time.
# The number of mutants depends only on the code.
# If the machine is too slow to run all mutants, the result is `NOT_SETTLED`.
MUTATION_SECONDS = 1800.0
MUTANTS = 32
ENOUGH_MUTANTS = 10
_CONTROLS = 3
_TRACING = 10
"""The factor by which the time limit is raised for a traced run."""
_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Proof(Value):
    """The evidence for the level reached, and the reason why it is not higher (`Cause.PASSES` for the highest
    level)."""

    evidence: Evidence
    cause: Cause


def prove(
    code: Code,
    runner: Runner,
    environment: Environment,
    limits: Limits,
    *,
    components: Sequence[str] = (),
    slots: RunSlots | None = None,
    seconds: float = MUTATION_SECONDS,
    stopped: Stopped = lambda: False,
) -> Proof:
    """Checks the levels in order until one is not reached. Without a test, the highest level is `imported`.

    `executed`: the test reaches its end and exits with 0, and neither the test nor the implementation interferes with
    the harness. The test runs either as part of the implementation's file, or as a script that imports
    `implementation`. `tested`: the test asserts something, fails when the body of any public function is removed, and
    fails on at least 60 % of the mutants. The test must also pass each time the unchanged code is run, at random
    positions among the mutants. Neither the implementation nor the test may read its own source, and the test must not
    patch its imports.

    `components` contains the source of modules whose level is already `tested`. Statements from these modules are
    neither stubbed nor mutated. The mutants are the first 32 on lines that the test runs, in an order determined by the
    node's id. If these lines have fewer than ten mutants, mutants on other lines are added, up to ten in total. A
    mutant also counts as detected if it times out twice while the unchanged code does not, or if it hits another limit.
    If too few mutants are detected, mutants that give the same results on generated inputs (`equivalence`) are
    excluded. At most a quarter of the mutants can be excluded, or one mutant if there are fewer than four. If `seconds`
    is too short for all these runs, the level is `executed` and the cause is `Cause.NOT_SETTLED`.

    Each run waits for one of the `slots`. If `slots` is None, runs are sequential. Neither the order nor the number of
    slots affects the result. A node in a language other than Python keeps its level. Raises `SandboxUnavailableError`
    as the runner does, and `Interrupted` between two runs once `stopped` returns True."""
    if code.language != "python":
        reason = f"not tried: {code.language}; only Python is sliced and run"
        return Proof(evidence=Evidence(level=code.level, reason=reason, checked_at=stamp()), cause=Cause.LANGUAGE)
    parsed = check_parsed(code.implementation)
    if parsed.level is Level.NONE:
        return Proof(evidence=parsed, cause=Cause.OWN_BUG)
    absent = lacking(parsed, code.implementation, environment)
    if absent:
        return Proof(evidence=absent, cause=Cause.MISSING_PACKAGE)
    runs = HarnessRuns(code, runner, environment, slots or RunSlots(1), stopped, seconds)
    run = runs.first(limits)
    if not run.ended:
        return _failed(code, run, environment, limits)
    if not code.test.strip():
        return Proof(evidence=_evidence(run, Level.IMPORTED, environment, "there is no test"), cause=Cause.NO_TEST)
    evidence = _evidence(run, Level.EXECUTED, environment, None)
    tampered = _tampered(code)
    if tampered is not None:
        reach, reason = tampered
        level = Level.IMPORTED if reach is Reach.INTERPRETER else Level.EXECUTED
        update = {"level": level, "reason": f"the test proves nothing: {reason}"}
        return Proof(evidence=evidence.model_copy(update=update), cause=Cause.PROVES_NOTHING)
    if not _can_fail(code.test):
        reason = "the test proves nothing: it asserts nothing"
        return Proof(evidence=evidence.model_copy(update={"reason": reason}), cause=Cause.PROVES_NOTHING)
    try:
        return _tested(code, runs, run, evidence, limits, own_lines(plain_newlines(code.implementation), components))
    except NotSettledError as error:
        reason = f"it is not known whether the test can fail: {error}"
        return Proof(evidence=evidence.model_copy(update={"reason": reason}), cause=Cause.NOT_SETTLED)
    except FailsAtTimesError as error:
        reason = f"the test does not pass every time: {error}"
        return Proof(evidence=evidence.model_copy(update={"reason": reason}), cause=Cause.PROVES_NOTHING)


def _tampered(code: Code) -> tuple[Reach, str] | None:
    reaches = []
    for name, source in (("test", code.test), ("implementation", code.implementation)):
        tree = syntax_tree(source)
        reaches += [(reach, f"the {name} {what}") for reach, what in tampering(tree, test=name == "test")]
    order = list(Reach)
    return min(reaches, key=lambda each: order.index(each[0]), default=None)


def _failed(code: Code, run: HarnessRun, environment: Environment, limits: Limits) -> Proof:
    reason = why_failed(run, limits)
    blamed = missing_package(run.outcome, code.implementation)
    if blamed and not reason.startswith("missing package"):
        reason = f"the installed package {blamed} cannot be imported: {reason}"
    own = [ast.walk(statements_of(source)) for source in (code.implementation, code.test)]
    names = frozenset(node.name for nodes in own for node in nodes if isinstance(node, _Definition))
    cause = cause_of(run.outcome, names)
    if cause is Cause.DOWNLOAD and run.outcome.ended == "timeout":
        reason += ", waiting for a network that is not available"
    level = Level.IMPORTED if run.imported else Level.PARSED
    evidence = _evidence(run, level, environment, reason, (blamed,) if blamed else ())
    return Proof(evidence=evidence, cause=cause)


def _tested(
    code: Code, runs: HarnessRuns, run: HarnessRun, evidence: Evidence, limits: Limits, own: frozenset[int]
) -> Proof:
    def proves_nothing(reason: str, **details: object) -> Proof:
        update = {"reason": reason, **details}
        return Proof(evidence=evidence.model_copy(update=update), cause=Cause.PROVES_NOTHING)

    followed = runs.lines(limits.model_copy(update={"seconds": _TRACING * limits.seconds}))
    lines = own if followed is None else followed
    if followed is not None:
        can_be_run = body_lines(code.implementation) & own
        begun = statements_run(code.implementation, lines)
        covered, uncovered = tuple(sorted(begun & can_be_run)), tuple(sorted(can_be_run - begun))
        evidence = evidence.model_copy(update={"covered_lines": covered, "uncovered_lines": uncovered})

    patience = limits.model_copy(update={"seconds": min(limits.seconds, 2 + 3 * run.outcome.seconds)})
    needless = runs.unnoticed(stubs(code.implementation, own), patience, limits, controls=1)
    if needless:
        others = f", and with {len(needless) - 1} others" if len(needless) > 1 else ""
        return proves_nothing(f"the test passes with {needless[0].what}{others}", survivors=_survivors(needless))
    sample = _sample(code, own, lines)
    missed = runs.unnoticed(sample, patience, limits, controls=_CONTROLS)
    if sample:
        runs.require_pass(limits)
    noticed, excused = len(sample) - len(missed), 0
    if noticed < KILLED_SHARE * len(sample):
        allowed = max(1, int(MOST_EXCUSED * len(sample)))
        if noticed and noticed >= KILLED_SHARE * (len(sample) - allowed):
            alike = equivalent(missed, code.test, code.id, runs, patience)[:allowed]
            missed, excused = [change for change in missed if change not in alike], len(alike)
    tried = len(sample) - excused
    if not tried:
        return proves_nothing(
            "nothing in the code itself could be changed: each statement belongs to a component or is trivial"
        )
    score = round(noticed / tried, 3)
    measured = {"mutants": tried, "excused": excused, "mutation_score": score, "survivors": _survivors(missed)}
    if noticed < KILLED_SHARE * tried:
        few = " (all there are)" if tried < ENOUGH_MUTANTS else ""
        same = f" ({excused} more give the same results)" if excused else ""
        return proves_nothing(f"the test detects {noticed} of {tried} changes to the code{few}{same}", **measured)
    return Proof(evidence=evidence.model_copy(update={"level": Level.TESTED, **measured}), cause=Cause.PASSES)


def _sample(code: Code, own: frozenset[int], run: frozenset[int]) -> list[Change]:
    """Selects the mutants to try. Mutants on executed lines come first. If there are too few, mutants on other lines
    are added."""
    on_run_lines: list[Change] = []
    elsewhere: list[Change] = []
    for change in mutants(code.implementation, own, code.id):
        (on_run_lines if change.touches(run) else elsewhere).append(change)
        if len(on_run_lines) == MUTANTS:
            break
    return [*on_run_lines, *elsewhere[: max(0, ENOUGH_MUTANTS - len(on_run_lines))]]


def _evidence(
    run: HarnessRun, level: Level, environment: Environment, reason: str | None, missing: tuple[str, ...] = ()
) -> Evidence:
    outcome = run.outcome
    return Evidence(
        level=level,
        runner=outcome.runner,
        command=outcome.command + (f", {IN_PLACE_OF_CUDA}" if environment.cpu else ""),
        environment=environment.hash,
        exit_code=outcome.exit_code,
        seconds=round(outcome.seconds, 3),
        peak_memory_mb=round(outcome.peak_memory_mb, 1),
        output_end=end_of_output(outcome.output),
        reason=reason,
        missing=missing,
        checked_at=stamp(),
    )


def _survivors(changes: list[Change]) -> tuple[Survivor, ...]:
    return tuple(Survivor(line=change.line, change=change.what) for change in changes)


def _can_fail(test: str) -> bool:
    """Returns whether a test contains anything that can fail: an assertion, a `raise`, or a call that asserts or
    exits."""
    for node in ast.walk(syntax_tree(test)):
        if isinstance(node, (ast.Assert, ast.Raise)):
            return True
        if isinstance(node, ast.Call):
            *_, owner, name = ["", *ast.unparse(node.func).split(".")]
            frameworks = owner in ("unittest", "pytest", "doctest")
            if frameworks or "assert" in name.casefold() or name in ("exit", "_exit", "abort"):
                return True
    return False
