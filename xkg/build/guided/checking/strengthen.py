"""Strengthens, with one question, a test that passes but would not notice changes of the code."""

from xkg.build.guided.checking.debug import ROUNDS, Debugged, Trial, ask_for_repair, debug
from xkg.build.guided.checking.edits import applied
from xkg.build.guided.checking.run_report import steady
from xkg.llm.client import Ask
from xkg.model import Evidence
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.levels import Proof

_MOST_CHANGES = 12
_MOST_LINES = 12
_SLOW_SECONDS = 3.0


def strengthen(state: Debugged, definition: str, trial: Trial, ask: Ask, *, rounds: int = ROUNDS) -> Debugged:
    """The draft with a stronger test, if its test proves nothing and the new one proves more; else unchanged.

    In the one question the implementation stays unchanged and assertions are only added or strengthened. A new test
    that fails is debugged with the remaining `rounds`: it may have found a bug, or be wrong itself. `failed` is set
    where the model gives no usable answer."""
    if state.proof.cause not in (Cause.PROVES_NOTHING, Cause.NOT_SETTLED):
        return state
    draft = state.draft
    inputs = {"definition": definition, "unnoticed": unnoticed(draft.implementation, state.proof.evidence)}
    state, answer = ask_for_repair(state, "strengthen", inputs, ask, test_alone=True)
    if answer is None or not answer.edits:
        return state
    return better_of(state, debug(applied(draft, answer.edits), definition, trial, ask, rounds=rounds - state.rounds))


def better_of(state: Debugged, after: Debugged) -> Debugged:
    """The better of a draft and of its revision, with the counts of both."""
    both = with_counts(state, after)
    if proof_rank(after.proof) > proof_rank(state.proof):
        return both
    return both.model_copy(update={name: getattr(state, name) for name in ("draft", "proof", "repairs", "stopped")})


def with_counts(state: Debugged, after: Debugged) -> Debugged:
    """`after`, one change from `state`, with the counts of both."""
    return after.model_copy(
        update={
            "first": state.first,
            "repairs": state.repairs + after.repairs + 1,
            "rounds": state.rounds + after.rounds,
            "refused": state.refused + after.refused,
            "failed": state.failed or after.failed,
        }
    )


def proof_rank(proof: Proof) -> tuple[int, float]:
    """For comparing proofs: the level, then the share of mutants that the test notices."""
    return proof.evidence.level.rank, proof.evidence.mutation_score or 0.0


def unnoticed(implementation: str, evidence: Evidence) -> str:
    """The changes that a test did not notice, one per line, with the affected lines of code."""
    lines = implementation.splitlines()

    def code_line(number: int) -> str:
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    findings = [steady(evidence.reason or "the test proves too little")]
    if evidence.mutants is None and not evidence.survivors and (evidence.seconds or 0.0) > _SLOW_SECONDS:
        findings.append(
            "- the test is slow, so that too few changes of the code could be tried: it has to be much quicker"
        )
    for survivor in evidence.survivors[:_MOST_CHANGES]:
        findings.append(
            f"- line {survivor.line}, `{code_line(survivor.line)}`: {survivor.change}; the test still passed"
        )
    if len(evidence.survivors) > _MOST_CHANGES:
        findings.append(f"- and {len(evidence.survivors) - _MOST_CHANGES} more such changes")
    uncovered = evidence.uncovered_lines or ()
    for number in uncovered[:_MOST_LINES]:
        findings.append(f"- line {number}, `{code_line(number)}`, was never run")
    if len(uncovered) > _MOST_LINES:
        findings.append(f"- and {len(uncovered) - _MOST_LINES} more lines were never run")
    return "\n".join(findings)
