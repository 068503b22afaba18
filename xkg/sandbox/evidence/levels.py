"""The highest level that a code node reaches, step by step: up to `executed` and `tested` where it has a test.

Printed output decides nothing: a token that is drawn for each run (`guest.run_test`) proves that an import or a test
came to its end, and counts only where the process then exited 0. The test and the code under it share a process with
the harness that prints the token. `tampering` refuses code that could reach it: frames, the memory of the process,
`ctypes`. Code that hides such access from its syntax tree can still forge a level.
"""

import ast
import functools
import json
import math
import random
import secrets
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from xkg.model import Code, Evidence, Level, Survivor
from xkg.sandbox import guest
from xkg.sandbox.evidence.failure_causes import Cause, cause_of
from xkg.sandbox.evidence.mutation import Change, body_lines, mutants, plain_newlines, stubs
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.sandbox.evidence.static_checks import check_parsed, failure, lacking, missing_package
from xkg.sandbox.evidence.tampering import Reach, tampering, watches_tracing
from xkg.sandbox.runner import Environment, Job, Limits, Outcome, Runner
from xkg.value import Value

# For all runs after the first. The number of mutants depends on the code alone: on a machine that is too slow for them
# the result is `NOT_SETTLED`.
MUTATION_SECONDS = 600.0
KILLED_SHARE = 0.6
MUTANTS = 32
_CONTROLS = 3
_OUTPUT_END = 2000
_OVER = "xkg: error ended"

Stopped = Callable[[], bool]


class Interrupted(Exception):
    """The proof was cancelled; nothing is known of the node."""


class Proof(Value):
    """The level reached, in its evidence, and the cause why it is not higher (or `Cause.PASSES`)."""

    evidence: Evidence
    cause: Cause


class _Run(Value):
    """`outcome` is without the harness's own output; `lines` are the executed lines, None where tracing did not
    complete."""

    outcome: Outcome
    imported: bool
    ended: bool
    lines: frozenset[int] | None


def prove(
    code: Code,
    runner: Runner,
    environment: Environment,
    limits: Limits,
    *,
    seconds: float = MUTATION_SECONDS,
    stopped: Stopped = lambda: False,
) -> Proof:
    """Tries the levels in order. Without a test the highest is `imported`.

    `executed`: the test, run as the end of the implementation's own file or as a script that imports it as
    `implementation`, comes to its end and exits 0, and neither of them reaches into the program that runs it.
    `tested`: it asserts something, fails for each public function when its body is removed and on at least 60 % of the
    mutants of lines that it runs, and passes each time that the unchanged code is run among these, at random positions;
    neither looks at its own source, and the test replaces nothing that it imports. The mutants are the first 32 of an
    order that the node's id determines. A mutant that does not end in time, though the code itself does, or that is
    stopped at another limit, counts as detected. Where `seconds` do not suffice for all of these runs, the level is
    `executed` and the cause `Cause.NOT_SETTLED`.

    A node in another language keeps its level. Raises `SandboxUnavailableError` as the runner does, and `Interrupted`
    between two runs once `stopped` returns True."""
    if code.language != "python":
        reason = f"not tried: {code.language}, and only Python is sliced and run"
        return Proof(evidence=Evidence(level=code.level, reason=reason, checked_at=_now()), cause=Cause.LANGUAGE)
    parsed = check_parsed(code.implementation)
    if parsed.level is Level.NONE:
        return Proof(evidence=parsed, cause=Cause.OWN_BUG)
    absent = lacking(parsed, code.implementation, environment)
    if absent:
        return Proof(evidence=absent, cause=Cause.MISSING_PACKAGE)
    trial = _Trial(code, runner, environment, stopped)
    run = trial.run(code.implementation, limits)
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
        return _tested(code, trial, run, evidence, limits, seconds)
    except _NotSettledError as error:
        reason = f"whether the test can fail was not settled: {error}"
        return Proof(evidence=evidence.model_copy(update={"reason": reason}), cause=Cause.NOT_SETTLED)


def _tampered(code: Code) -> tuple[Reach, str] | None:
    """The most serious tampering of test or implementation, and how."""
    reaches = []
    for name, source in (("test", code.test), ("implementation", code.implementation)):
        tree = syntax_tree(source)
        reaches += [(reach, f"the {name} {what}") for reach, what in tampering(tree, test=name == "test")]
    order = list(Reach)
    return min(reaches, key=lambda each: order.index(each[0]), default=None)


def _failed(code: Code, run: _Run, environment: Environment, limits: Limits) -> Proof:
    """The proof for a run that did not come to its end."""
    reason = _why(run, limits)
    blamed = missing_package(run.outcome, code.implementation)
    if blamed and not reason.startswith("missing package"):
        reason = f"package {blamed} as it is here does not import: {reason}"
    cause = cause_of(run.outcome, _own_names(code))
    if cause is Cause.DOWNLOAD and run.outcome.ended == "timeout":
        reason += ", waiting for a network that is not there"
    level = Level.IMPORTED if run.imported else Level.PARSED
    evidence = _evidence(run, level, environment, reason, (blamed,) if blamed else ())
    return Proof(evidence=evidence, cause=cause)


def _tested(code: Code, trial: "_Trial", run: _Run, evidence: Evidence, limits: Limits, seconds: float) -> Proof:
    """The proof for a test that passed."""

    def proves_nothing(reason: str, **details: object) -> Proof:
        update = {"reason": reason, **details}
        return Proof(evidence=evidence.model_copy(update=update), cause=Cause.PROVES_NOTHING)

    trial.until = time.monotonic() + seconds
    followed = trial.lines(limits.model_copy(update={"seconds": seconds}))
    lines = frozenset(range(1, code.implementation.count("\n") + 2)) if followed is None else followed
    if followed is not None:
        can_be_run = body_lines(code.implementation)
        covered, uncovered = tuple(sorted(lines & can_be_run)), tuple(sorted(can_be_run - lines))
        evidence = evidence.model_copy(update={"covered_lines": covered, "uncovered_lines": uncovered})

    patience = limits.model_copy(update={"seconds": min(limits.seconds, 2 + 3 * run.outcome.seconds)})
    changed = stubs(code.implementation)
    sample = list(islice(mutants(code.implementation, lines, code.id), MUTANTS))
    controls = _controls(len(changed) + len(sample))
    missed: list[Change] = []
    for at, change in enumerate([*changed, *sample]):
        if at == len(changed) and missed:
            break
        if at in controls and (failed := trial.failed(limits)):
            return proves_nothing(f"the test does not pass every time: {failed}")
        if trial.passes(change, patience):
            missed.append(change)
    if missed and missed[0] in changed:
        others = f", and with {len(missed) - 1} others" if len(missed) > 1 else ""
        return proves_nothing(f"the test passes with {missed[0].what}{others}", survivors=_survivors(missed))
    if failed := trial.failed(limits):
        return proves_nothing(f"the test does not pass every time: {failed}")
    tried = len(sample)
    if not tried:
        return proves_nothing("nothing in the code that the test runs could be changed")
    score = round((tried - len(missed)) / tried, 3)
    measured = {"mutants": tried, "mutation_score": score, "survivors": _survivors(missed)}
    if score < KILLED_SHARE:
        return proves_nothing(f"the test notices {tried - len(missed)} of {tried} changes of the code", **measured)
    return Proof(evidence=evidence.model_copy(update={"level": Level.TESTED, **measured}), cause=Cause.PASSES)


def _controls(runs: int) -> frozenset[int]:
    """The runs before which the unchanged code is run: drawn anew each time, so that a test cannot know by counting, by
    the clock or by files of an earlier run which runs should pass."""
    return frozenset(random.SystemRandom().sample(range(runs), min(_CONTROLS, runs)))


class _NotSettledError(Exception):
    """There was no time for all runs; the message names what is not settled."""


class _Trial:
    """Runs of one test over an implementation and its changes. Once `until` has passed, they raise
    `_NotSettledError`."""

    until = math.inf

    def __init__(self, code: Code, runner: Runner, environment: Environment, stopped: Stopped) -> None:
        self._code = code
        self._runner = runner
        self._site = environment.site
        self._stopped = stopped

    def passes(self, change: Change, patience: Limits) -> bool:
        """Whether the test passes over a change. A timeout counts as a failure only where the unchanged code does not
        time out right after it: else the machine is too busy to decide."""
        changed = self.run(change.apply(self._code.implementation), patience)
        if changed.outcome.ended == "timeout":
            unchanged = self.run(self._code.implementation, patience)
            if unchanged.outcome.ended == "timeout":
                raise _NotSettledError(f"the code itself takes over {patience.seconds:.0f} s at times")
        return changed.ended

    def lines(self, limits: Limits) -> frozenset[int] | None:
        """The lines of the implementation that the test executes; None for a test that fails under tracing, or could
        detect it."""
        if any(watches_tracing(syntax_tree(source)) for source in (self._code.test, self._code.implementation)):
            return None
        traced = self.run(self._code.implementation, limits, tracing=True)
        if traced.outcome.ended == "timeout":
            raise _NotSettledError(f"its lines could not be followed within {limits.seconds:g} s")
        return traced.lines if traced.ended else None

    def failed(self, limits: Limits) -> str | None:
        """Why the test fails over the unchanged code in another run, if so."""
        again = self.run(self._code.implementation, limits)
        if again.outcome.ended == "timeout":
            raise _NotSettledError(f"the code itself takes over {limits.seconds:g} s at times")
        return None if again.ended else _why(again, limits)

    def run(self, loaded: str, limits: Limits, *, tracing: bool = False) -> _Run:
        if self._stopped():
            raise Interrupted
        if time.monotonic() > self.until:
            raise _NotSettledError("the machine was too slow for all runs of it; try again when it is less busy")
        imported, ended = secrets.token_hex(16), secrets.token_hex(16)
        outcome = self._runner.run(
            Job(
                arguments=("harness.py",),
                files={
                    "harness.py": _harness(),
                    "implementation.py": plain_newlines(self._code.implementation),
                    "loaded.py": plain_newlines(loaded),
                    "test.py": self._code.test,
                    "imported": imported,
                    "ended": ended,
                    "traced": "yes" if tracing else "",
                },
                site=self._site,
                limits=limits,
            )
        )
        printed, has_imported, lines = [], False, None
        for line in outcome.output.splitlines():
            if line.startswith(imported):
                has_imported = True
            elif line.startswith(f"{ended} "):
                lines = line.removeprefix(ended)
                break
            elif line == _OVER:
                break
            else:
                printed.append(line)
        return _Run(
            outcome=outcome.model_copy(update={"output": "\n".join(printed).strip("\n")}),
            imported=has_imported or lines is not None,
            ended=outcome.ok and lines is not None,
            lines=_lines(lines),
        )


def _lines(listed: str | None) -> frozenset[int] | None:
    try:
        numbers = json.loads(listed or "null")
    except ValueError:
        return None
    return frozenset(line for line in numbers if isinstance(line, int)) if isinstance(numbers, list) else None


def _why(run: _Run, limits: Limits) -> str:
    if run.outcome.ended == "exited" and run.outcome.exit_code == 0:
        return f"ended the process before the end of its {'test' if run.imported else 'import'}"
    return failure(run.outcome, limits)


def _evidence(
    run: _Run, level: Level, environment: Environment, reason: str | None, missing: tuple[str, ...] = ()
) -> Evidence:
    outcome = run.outcome
    return Evidence(
        level=level,
        runner=outcome.runner,
        command=outcome.command,
        environment=environment.hash,
        exit_code=outcome.exit_code,
        seconds=round(outcome.seconds, 3),
        peak_memory_mb=round(outcome.peak_memory_mb, 1),
        output_end=outcome.output[-_OUTPUT_END:],
        reason=reason,
        missing=missing,
        checked_at=_now(),
    )


def _survivors(changes: list[Change]) -> tuple[Survivor, ...]:
    return tuple(Survivor(line=change.line, change=change.what) for change in changes)


def _can_fail(test: str) -> bool:
    """Whether anything in a test can fail: an assertion, a `raise`, a call that asserts or exits."""
    for node in ast.walk(syntax_tree(test)):
        if isinstance(node, (ast.Assert, ast.Raise)):
            return True
        if isinstance(node, ast.Call):
            *_, owner, name = ["", *ast.unparse(node.func).split(".")]
            frameworks = owner in ("unittest", "pytest", "doctest")
            if frameworks or "assert" in name.casefold() or name in ("exit", "_exit", "abort"):
                return True
    return False


def _own_names(code: Code) -> frozenset[str]:
    return frozenset(_defined(code.implementation)) | frozenset(_defined(code.test))


def _defined(source: str) -> Iterator[str]:
    try:
        tree = syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name


@functools.cache
def _harness() -> str:
    return (Path(guest.__file__).parent / "run_test.py").read_text()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
