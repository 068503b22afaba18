"""The highest level that a code node reaches today, rung by rung: up to `executed` and `tested` where it has a test."""

import ast
import functools
import json
import math
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from xkg.model import Code, Evidence, Level, Survivor
from xkg.sandbox import Environment, Job, Limits, Outcome, Runner
from xkg.sandbox.causes import Cause, cause_of
from xkg.sandbox.levels import check_parsed, failure, lacking, missing_package
from xkg.sandbox.mutants import Change, body_lines, mutants, stubs
from xkg.sandbox.syntax import syntax_tree

MUTATION_SECONDS = 60.0
# A verdict must not depend on how busy the machine is: so many runs of the test there is always time for.
_RUNS = 30
_MOST_SECONDS = 600.0
KILLED_SHARE = 0.6
_MAX_MUTANTS = 64
_FEWEST_MUTANTS = 5
_OUTPUT_END = 2000
_IMPORTED, _ENDED, _OVER = "xkg: import ended", "xkg: test ended", "xkg: error ended"

Stopped = Callable[[], bool]


class Interrupted(Exception):
    """The proof was called off; nothing is known of the node."""


class Proof(BaseModel):
    """The level reached, in its evidence, and what kept the node from more (or `Cause.PASSES`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    evidence: Evidence
    cause: Cause


class _Run(BaseModel):
    """`said` is the outcome without what the harness printed; `lines` are those that were run, where it was traced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    said: Outcome
    imported: bool
    ended: bool
    lines: frozenset[int]


def prove(
    code: Code,
    runner: Runner,
    environment: Environment,
    limits: Limits,
    *,
    seconds: float = MUTATION_SECONDS,
    stopped: Stopped = lambda: False,
) -> Proof:
    """Tries the rungs in order. Without a test the highest is `imported`.

    `executed`: the test, run as the end of the implementation's own file or as a script that imports it as
    `implementation`, exits 0. `tested`: it asserts something, passes a second time, fails for each public function
    when its body is left out, and on at least 60 % of the mutants of lines that it runs. These runs together take
    about `seconds`; the stubs and the few mutants that a verdict needs may take twice as long, or as long as thirty
    runs of a slow test, up to ten minutes, so that a busy machine seldom changes it; the mutants tried are the
    first of an order that the node's id fixes. One that does not end in time, or is stopped at another limit,
    counts as noticed.

    A node in another language keeps the level it has. Raises `SandboxUnavailableError` as the runner does, and
    `Interrupted` between two runs once `stopped` says so."""
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
    if not _can_fail(code.test):
        reason = "the test proves nothing: it asserts nothing"
        return Proof(evidence=evidence.model_copy(update={"reason": reason}), cause=Cause.PROVES_NOTHING)
    return _tested(code, trial, run, evidence, limits, seconds)


def _failed(code: Code, run: _Run, environment: Environment, limits: Limits) -> Proof:
    """From a run that did not come to its end to what stopped it."""
    reason = _why(run, limits)
    blamed = missing_package(run.said, code.implementation)
    if blamed and not reason.startswith("missing package"):
        reason = f"package {blamed} as it is here does not import: {reason}"
    cause = cause_of(run.said, _own_names(code))
    if cause is Cause.DOWNLOAD and run.said.ended == "timeout":
        reason += ", waiting for a network that is not there"
    level = Level.IMPORTED if run.imported else Level.PARSED
    evidence = _evidence(run, level, environment, reason, (blamed,) if blamed else ())
    return Proof(evidence=evidence, cause=cause)


def _tested(code: Code, trial: "_Trial", run: _Run, evidence: Evidence, limits: Limits, seconds: float) -> Proof:
    """From a test that passed to what it proves."""

    def proves_nothing(reason: str, **found: object) -> Proof:
        update = {"reason": reason, **found}
        return Proof(evidence=evidence.model_copy(update=update), cause=Cause.PROVES_NOTHING)

    lines = frozenset(range(1, code.implementation.count("\n") + 2))
    traced = trial.run(code.implementation, limits, tracing=True)
    if traced.ended:
        lines, can_be_run = traced.lines, body_lines(code.implementation)
        covered, uncovered = tuple(sorted(lines & can_be_run)), tuple(sorted(can_be_run - lines))
        evidence = evidence.model_copy(update={"covered_lines": covered, "uncovered_lines": uncovered})
    else:
        # Not every test bears being traced, or ends in time then.
        again = trial.run(code.implementation, limits)
        if not again.ended:
            return proves_nothing(f"the test does not pass every time: {_why(again, limits)}")
    longest = max(2 * seconds, min(_RUNS * run.said.seconds, _MOST_SECONDS))
    start = time.monotonic()
    patience = limits.model_copy(update={"seconds": min(limits.seconds, 2 + 3 * run.said.seconds)})

    def unnoticed(changes: Iterator[Change], needed: float) -> tuple[int, list[Change], bool]:
        """How many were tried, those that the test passed with, and whether there was time for all: for as many as a
        verdict needs there is longer."""
        tried = 0
        missed: list[Change] = []
        for change in changes:
            if time.monotonic() > start + (longest if tried < needed else seconds):
                return tried, missed, False
            tried += 1
            if trial.run(change.apply(code.implementation), patience).ended:
                missed.append(change)
        return tried, missed, True

    # Lines that run in another process are not seen, so that every stub is tried.
    _, unneeded, in_time = unnoticed(iter(stubs(code.implementation)), math.inf)
    if unneeded:
        others = f", and with {len(unneeded) - 1} others" if len(unneeded) > 1 else ""
        return proves_nothing(f"the test passes with {unneeded[0].what}{others}", survivors=_survivors(unneeded))
    if not in_time:
        return proves_nothing(f"whether the test can fail was not settled within {longest:.0f} s")
    sample = islice(mutants(code.implementation, lines, code.id), _MAX_MUTANTS)
    tried, missed, in_time = unnoticed(sample, _FEWEST_MUTANTS)
    if tried < _FEWEST_MUTANTS and not in_time:
        return proves_nothing(f"only {tried} mutants could be tried within {longest:.0f} s")
    if not tried:
        return proves_nothing("nothing in the code that the test runs could be changed")
    score = round((tried - len(missed)) / tried, 3)
    found = {"mutants": tried, "mutation_score": score, "survivors": _survivors(missed)}
    if score < KILLED_SHARE:
        return proves_nothing(f"the test notices {tried - len(missed)} of {tried} changes of the code", **found)
    return Proof(evidence=evidence.model_copy(update={"level": Level.TESTED, **found}), cause=Cause.PASSES)


class _Trial:
    """Runs of one test over an implementation and its changes."""

    def __init__(self, code: Code, runner: Runner, environment: Environment, stopped: Stopped) -> None:
        self._test = code.test
        self._runner = runner
        self._site = environment.site
        self._stopped = stopped

    def run(self, implementation: str, limits: Limits, *, tracing: bool = False) -> _Run:
        if self._stopped():
            raise Interrupted
        outcome = self._runner.run(
            Job(
                arguments=("harness.py", *(("trace",) if tracing else ())),
                files={"harness.py": _harness(), "implementation.py": implementation, "test.py": self._test},
                site=self._site,
                limits=limits,
            )
        )
        kept, imported, lines = [], False, None
        for line in outcome.output.splitlines():
            if line == _IMPORTED:
                imported = True
            elif line.startswith(f"{_ENDED} "):
                lines = line.removeprefix(_ENDED)
                break
            elif line == _OVER:
                break
            else:
                kept.append(line)
        return _Run(
            said=outcome.model_copy(update={"output": "\n".join(kept).strip("\n")}),
            imported=imported or lines is not None,
            ended=outcome.ok and lines is not None,
            lines=frozenset(_lines(lines)),
        )


def _lines(listed: str | None) -> list[int]:
    try:
        found = json.loads(listed or "[]")
    except ValueError:
        return []
    return [line for line in found if isinstance(line, int)] if isinstance(found, list) else []


def _why(run: _Run, limits: Limits) -> str:
    if run.said.ended == "exited" and run.said.exit_code == 0:
        return f"ended the process before the end of its {'test' if run.imported else 'import'}"
    return failure(run.said, limits)


def _evidence(
    run: _Run, level: Level, environment: Environment, reason: str | None, missing: tuple[str, ...] = ()
) -> Evidence:
    outcome = run.said
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
    """Whether anything in a test is there to fail: an assertion, a `raise`, a call that asserts or exits."""
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
    return Path(__file__).with_name("harness.py").read_text()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
