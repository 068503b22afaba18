"""Debugs a draft. Runs the draft and repairs it after each error until its test passes or no rounds are left."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from xkg.build.guided.checking.compared_lines import compared_lines
from xkg.build.guided.checking.components import editable_module
from xkg.build.guided.checking.edits import EditError, Repair, applied
from xkg.build.guided.checking.run_report import report, steady
from xkg.build.guided.draft import Draft, prompt
from xkg.build.guided.repair_guard.guard import complaint
from xkg.errors import AnswerError
from xkg.llm.client import Ask
from xkg.model import Evidence
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.levels import Proof
from xkg.value import Value

ROUNDS = 8
_REMEMBERED = 4

Trial = Callable[[Draft], Proof]
"""Finds the packages that a draft imports, runs the draft, and mutates it if its test passes. Equal drafts have equal
proofs."""

PASSED = frozenset((Cause.PASSES, Cause.PROVES_NOTHING, Cause.NOT_SETTLED))
# No change to the code can repair these failures.
HOPELESS = frozenset((Cause.MISSING_PACKAGE, Cause.LANGUAGE, Cause.NO_TEST))
_HINTS = {
    Cause.REMOVED_API: "The library no longer has this; use what its current version offers instead.",
    Cause.DOWNLOAD: "There is no internet access. Remove the need for it: create small data or a small network in the "
    "test.",
    Cause.TIME: "It ran too long. Make the test's problem smaller; leave the implementation's defaults as they are. "
    "JAX compiles each operation for each shape: use few shapes, and jit a whole step.",
    Cause.MEMORY: "It took too much memory. Make the test's problem smaller.",
    Cause.KILLED: "It was stopped: it printed or wrote too much, started too many processes, or crashed in a library.",
}


class Debugged(Value):
    """The result of debugging a draft. `proof` belongs to `draft`, and `first` is the evidence from the first run.

    `repairs` counts the repairs in `draft`, `refused` counts the repairs that the guard rejected, and `rounds` counts
    the questions asked. `stopped` explains why debugging ended although the test fails. `failed` explains why the model
    gave no usable answer."""

    draft: Draft
    proof: Proof
    first: Evidence
    repairs: int = 0
    refused: int = 0
    rounds: int = 0
    stopped: str | None = None
    failed: str | None = None

    @property
    def passed(self) -> bool:
        return self.proof.cause in PASSED


def debug(draft: Draft, trial: Trial, ask: Ask, *, rounds: int = ROUNDS) -> Debugged:
    """Returns the draft after at most `rounds` repairs. Does not ask the model if the test passes immediately, or if
    the code did not cause the failure, for example because a package is unavailable.

    Raises `ModelUnavailableError` and `BudgetError` like `ask`, and every error raised by `trial`."""
    proof = trial(draft)
    state = Debugged(draft=draft, proof=proof, first=proof.evidence)
    if proof.cause in HOPELESS:
        return state.model_copy(update={"stopped": f"{proof.cause.value}: {proof.evidence.reason}"})
    tried: dict[tuple[str, str], str] = {(draft.implementation, draft.test): _failure(proof)}
    notes: list[str] = []
    while not state.passed and state.rounds < rounds:
        inputs = {
            "definition": draft.text,
            "failure": report(state.proof),
            "hint": _HINTS.get(state.proof.cause, "Find the cause before you change anything."),
            "tried": "\n".join(notes[-_REMEMBERED:]) or "nothing yet",
            "sources": compared_lines(state.draft, state.draft.test),
        }
        state, answer = ask_for_repair(state, "repair", inputs, ask, tried=tried)
        if answer is None:
            return state
        state = state.model_copy(update={"rounds": state.rounds + 1})
        if not answer.edits:
            return state.model_copy(update={"stopped": f"cannot be repaired: {steady(answer.cause)}"})
        repaired, after = with_old_test(applied(state.draft, answer.edits), draft, trial)
        tried[repaired.implementation, repaired.test] = _failure(after)
        if repaired.test != state.draft.test and after.cause is Cause.PROVES_NOTHING:
            notes.append(f"- {answer.cause} (undone: {_failure(after)}; assert as much as before)")
            state = state.model_copy(update={"refused": state.refused + 1})
            continue
        if _is_worse(after, state.proof):
            notes.append(f"- {answer.cause} (undone, because it then failed with: {_failure(after)})")
            continue
        notes.append(f"- {answer.cause} (kept; then it failed with: {_failure(after)})")
        state = state.model_copy(update={"draft": repaired, "proof": after, "repairs": state.repairs + 1})
    if not state.passed:
        return state.model_copy(update={"stopped": f"does not pass after {state.rounds} rounds"})
    return state


def ask_for_repair(
    state: Debugged,
    name: str,
    inputs: Mapping[str, str],
    ask: Ask,
    *,
    tried: Mapping[tuple[str, str], str] = MappingProxyType({}),
    test_alone: bool = False,
    may_remove: bool = False,
) -> tuple[Debugged, Repair | None]:
    """Asks the model for a repair, using the prompt with this name. Returns the answer if its edits fit the draft and
    pass the guard, and None otherwise.

    The returned state contains the reason in `failed` and the number of answers that the guard refused. `tried` maps
    the code and test of each earlier run to its failure. If `test_alone` is True, only the test may change.
    `may_remove` is passed to `complaint`."""
    draft, refused = state.draft, 0

    def check(answer: Repair) -> str | None:
        nonlocal refused
        if test_alone and any(edit.file != "test" for edit in answer.edits):
            return "only the test may change; edit only the file `test`"
        if not answer.edits:
            return None
        try:
            changed = applied(draft, answer.edits)
        except EditError as error:
            return str(error)
        known = tried.get((changed.implementation, changed.test))
        if known is not None:
            return f"this was already run and failed with: {known}; change something else"
        fault = complaint(draft, changed, may_remove=may_remove)
        refused += fault is not None
        return fault

    files = {"implementation": editable_module(draft), "test": draft.test}
    answer, failed = None, state.failed
    try:
        answer = ask(prompt(name), Repair, {**inputs, **files}, about=draft.name, check=check)
    except AnswerError as error:
        failed = str(error)
    return state.model_copy(update={"failed": failed, "refused": state.refused + refused}), answer


def with_old_test(repaired: Draft, before: Draft, trial: Trial) -> tuple[Draft, Proof]:
    """Returns the repaired draft and its proof.

    If the original test also passes, only the code was wrong, so it is restored unless the new test proves more."""
    if repaired.test != before.test and repaired.implementation != before.implementation:
        same_test = repaired.model_copy(update={"test": before.test})
        if (old := trial(same_test)).cause in PASSED:
            new = trial(repaired)
            return (repaired, new) if new.cause in PASSED and _shown(new) > _shown(old) else (same_test, old)
    return repaired, trial(repaired)


def _shown(proof: Proof) -> tuple[int, int, float]:
    """Returns a sort key for how much a test proves: level, then covered lines, then fraction of detected mutants."""
    evidence = proof.evidence
    return evidence.level.rank, -len(evidence.uncovered_lines or ()), evidence.mutation_score or 0.0


def _is_worse(after: Proof, before: Proof) -> bool:
    return after.evidence.level.rank < before.evidence.level.rank or after.cause in HOPELESS


def _failure(proof: Proof) -> str:
    return steady(proof.evidence.reason or proof.cause.value)[:300]
