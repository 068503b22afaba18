"""Runs one test against an implementation and its changed versions, several at a time, using the harness in
`guest.run_test`."""

import json
import random
import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from xkg.model import Code
from xkg.sandbox.evidence.hung_stack import hung_at, without_stack
from xkg.sandbox.evidence.mutation import Change, plain_newlines
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.sandbox.evidence.run_slots import RunSlots
from xkg.sandbox.evidence.static_checks import failure
from xkg.sandbox.evidence.tampering import watches_tracing
from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.runner import Environment, Job, Limits, Outcome, Runner
from xkg.value import Value

T = TypeVar("T")
R = TypeVar("R")

_OVER = "xkg: error ended"

Stopped = Callable[[], bool]


class Interrupted(Exception):
    """Raised when the proof is cancelled, so nothing is known about the node."""


class NotSettledError(Exception):
    """Raised when time runs out before all runs have finished. The message is the reason."""


class FailsAtTimesError(Exception):
    """Raised when the test passed on the unchanged code once, but failed in a later run. The message gives the
    reason."""


class HarnessRun(Value):
    """The result of one run of a test. `outcome` excludes the harness's own output. `hung` describes where the program
    was when it timed out. `lines` are the executed lines, or None if tracing did not complete."""

    outcome: Outcome
    imported: bool
    ended: bool
    hung: str
    lines: frozenset[int] | None


class HarnessRuns:
    """Runs the test of a code node. Each run waits for one of the `slots`. Once all runs after the first have taken
    `seconds` in total, excluding waiting time, the next run raises `NotSettledError`. Once `stopped` returns True, the
    next run raises `Interrupted`."""

    def __init__(
        self, code: Code, runner: Runner, environment: Environment, slots: RunSlots, stopped: Stopped, seconds: float
    ) -> None:
        self._code = code
        self._runner = runner
        self._environment = environment
        self._slots = slots
        self._stopped = stopped
        self._seconds = seconds
        self._spent = 0.0
        self._lock = threading.Lock()

    def first(self, limits: Limits) -> HarnessRun:
        """Runs the unchanged code."""
        run = self._run(self._code.implementation, self._code.test, limits, report_stack=True)
        self._spent = 0.0
        return run

    def lines(self, limits: Limits) -> frozenset[int] | None:
        """Returns the implementation's lines that the test executes, or None if the test fails under tracing or could
        detect tracing."""
        if any(watches_tracing(syntax_tree(source)) for source in (self._code.test, self._code.implementation)):
            return None
        traced = self._run(self._code.implementation, self._code.test, limits, tracing=True)
        if traced.outcome.ended == "timeout":
            raise NotSettledError(f"its lines could not be traced within {limits.seconds:g} s")
        return traced.lines if traced.ended else None

    def unnoticed(self, changes: Sequence[Change], patience: Limits, limits: Limits, *, controls: int) -> list[Change]:
        """Returns the changes that the test does not detect, in order. `patience` limits each run of changed code. The
        unchanged code also runs `controls` times at random positions. Therefore, a test cannot use a counter, the clock
        or leftover files to predict which runs should pass. Raises `FailsAtTimesError` if one of these control runs,
        limited by `limits`, fails."""
        places = random.SystemRandom().sample(range(len(changes)), min(controls, len(changes)))
        work: list[Change | None] = list(changes)
        for at in sorted(places, reverse=True):
            work.insert(at, None)

        def passes(change: Change | None) -> bool:
            if change is None:
                self.require_pass(limits)
                return True
            return self._passes(change, patience)

        found = self.each(passes, work)
        return [change for change, passed in zip(work, found, strict=True) if change is not None and passed]

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Returns the results of `work` for all items, in order. Items run in parallel, up to the number of slots. If
        some items fail, waits for all started runs, then raises the error of the first failed item."""
        with ThreadPoolExecutor(self._slots.count) as pool:
            futures = [pool.submit(work, item) for item in items]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def require_pass(self, limits: Limits) -> None:
        """Raises `FailsAtTimesError` if the test fails on the unchanged code."""
        again = self._run(self._code.implementation, self._code.test, limits)
        if again.outcome.ended == "timeout":
            raise NotSettledError(f"the unchanged code sometimes takes more than {limits.seconds:g} s")
        if not again.ended:
            raise FailsAtTimesError(why_failed(again, limits))

    def observed(self, change: Change | None, script: str, limits: Limits) -> HarnessRun:
        """Runs another script instead of the test, on changed or unchanged code."""
        source = self._code.implementation
        return self._run(change.apply(source) if change else source, script, limits)

    def _passes(self, change: Change, patience: Limits) -> bool:
        """Returns whether the test passes on changed code. A timeout counts as a failure only if the unchanged code
        finishes right afterwards and the changed code then times out again. If the unchanged code times out too, the
        machine is too busy to judge the change."""
        changed = self._run(change.apply(self._code.implementation), self._code.test, patience)
        if changed.outcome.ended != "timeout":
            return changed.ended
        unchanged = self._run(self._code.implementation, self._code.test, patience)
        if unchanged.outcome.ended == "timeout":
            raise NotSettledError(f"the unchanged code sometimes takes more than {patience.seconds:.0f} s")
        return self._run(change.apply(self._code.implementation), self._code.test, patience).ended

    def _run(
        self, loaded: str, test: str, limits: Limits, *, tracing: bool = False, report_stack: bool = False
    ) -> HarnessRun:
        with self._slots.free:
            self._require_time()
            imported, ended = secrets.token_hex(16), secrets.token_hex(16)
            outcome = self._runner.run(
                Job(
                    arguments=("harness.py",),
                    files={
                        "harness.py": guest_source("run_test"),
                        "implementation.py": plain_newlines(self._code.implementation),
                        "loaded.py": plain_newlines(loaded),
                        "test.py": test,
                        "imported": imported,
                        "ended": ended,
                        "traced": "yes" if tracing else "",
                        "stack_after": f"{_stack_after(limits):.2f}" if report_stack else "",
                        **({"no_gpu.py": guest_source("no_gpu")} if self._environment.cpu else {}),
                    },
                    site=self._environment.site,
                    python=self._environment.python,
                    limits=limits,
                )
            )
        with self._lock:
            self._spent += outcome.seconds
        return _read(outcome, imported, ended)

    def _require_time(self) -> None:
        if self._stopped():
            raise Interrupted
        if self._spent > self._seconds:
            raise NotSettledError("the machine was too slow to finish all runs; try again when it is less busy")


def why_failed(run: HarnessRun, limits: Limits) -> str:
    """Explains in one line why a run did not finish."""
    if run.outcome.ended == "exited" and run.outcome.exit_code == 0:
        return f"exited the process before its {'test' if run.imported else 'import'} finished"
    return failure(run.outcome, limits) + (f"; the program was in {run.hung}" if run.hung else "")


def _read(outcome: Outcome, imported: str, ended: str) -> HarnessRun:
    hung = hung_at(outcome.output) if outcome.ended == "timeout" else ""
    printed, has_imported, lines = [], False, None
    for line in without_stack(outcome.output).splitlines():
        if line.startswith(imported):
            has_imported = True
        elif line.startswith(f"{ended} "):
            lines = line.removeprefix(ended)
            break
        elif line == _OVER:
            break
        else:
            printed.append(line)
    return HarnessRun(
        outcome=outcome.model_copy(update={"output": "\n".join(printed).strip("\n")}),
        imported=has_imported or lines is not None,
        ended=outcome.ok and lines is not None,
        hung=hung,
        lines=_lines(lines),
    )


def _lines(listed: str | None) -> frozenset[int] | None:
    try:
        numbers = json.loads(listed or "null")
    except ValueError:
        return None
    return frozenset(line for line in numbers if isinstance(line, int)) if isinstance(numbers, list) else None


def _stack_after(limits: Limits) -> float:
    """Returns the number of seconds after which a run prints its stack. The stack is printed a little before the
    timeout, because the harness starts counting slightly later than the runner."""
    return max(0.05, limits.seconds - min(2.0, limits.seconds / 4))
