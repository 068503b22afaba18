"""A test that passes but would not fail if the code did something else goes back once, with what it did not notice."""

from xkg.build.guided.coding.debug import ROUNDS, Debugged, Trial, ask_for_repair, debug
from xkg.build.guided.coding.edits import applied
from xkg.build.guided.coding.run_report import steady
from xkg.llm.client import Ask
from xkg.model import Evidence
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.prove import Proof

_MOST_CHANGES = 12
_MOST_LINES = 12
_SLOW_SECONDS = 3.0


def strengthen(state: Debugged, definition: str, trial: Trial, ask: Ask, *, rounds: int = ROUNDS) -> Debugged:
    """The draft with a sharper test, where its test proves nothing and the sharper one proves more; else as it was.

    One question, in which the implementation stays as it is and assertions are only added or sharpened. A sharper test
    that does not pass is debugged with what is left of `rounds`: it may have found a bug, or be wrong itself. Where the
    model gives no answer that can be used, `failed` says so."""
    if state.proof.cause not in (Cause.PROVES_NOTHING, Cause.NOT_SETTLED):
        return state
    draft = state.draft
    inputs = {"definition": definition, "unnoticed": unnoticed(draft.implementation, state.proof.evidence)}
    state, answer = ask_for_repair(state, "strengthen", inputs, ask, test_alone=True)
    if answer is None or not answer.edits:
        return state
    return follow(state, debug(applied(draft, answer.edits), definition, trial, ask, rounds=rounds - state.rounds))


def follow(state: Debugged, after: Debugged) -> Debugged:
    """The better of a draft and of what was made of it, with the counts of both."""
    both = made_from(state, after)
    if strength(after.proof) > strength(state.proof):
        return both
    return both.model_copy(update={name: getattr(state, name) for name in ("draft", "proof", "repairs", "stopped")})


def made_from(state: Debugged, after: Debugged) -> Debugged:
    """`after`, which took one change of `state` to make, with the counts of both."""
    return after.model_copy(
        update={
            "first": state.first,
            "repairs": state.repairs + after.repairs + 1,
            "rounds": state.rounds + after.rounds,
            "refused": state.refused + after.refused,
            "failed": state.failed or after.failed,
        }
    )


def strength(proof: Proof) -> tuple[int, float]:
    """What a proof is worth beside another: its level, then the share of mutants that its test notices."""
    return proof.evidence.level.rank, proof.evidence.mutation_score or 0.0


def unnoticed(implementation: str, evidence: Evidence) -> str:
    """What a test did not notice, a line each, with the lines of the code that it is about."""
    lines = implementation.splitlines()

    def shown(number: int) -> str:
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    said = [steady(evidence.reason or "the test proves too little")]
    if evidence.mutants is None and not evidence.survivors and (evidence.seconds or 0.0) > _SLOW_SECONDS:
        said.append("- the test is slow, so that too few changes of the code could be tried: it has to be much quicker")
    for survivor in evidence.survivors[:_MOST_CHANGES]:
        said.append(f"- line {survivor.line}, `{shown(survivor.line)}`: {survivor.change}; the test still passed")
    if len(evidence.survivors) > _MOST_CHANGES:
        said.append(f"- and {len(evidence.survivors) - _MOST_CHANGES} more such changes")
    uncovered = evidence.uncovered_lines or ()
    for number in uncovered[:_MOST_LINES]:
        said.append(f"- line {number}, `{shown(number)}`, was never run")
    if len(uncovered) > _MOST_LINES:
        said.append(f"- and {len(uncovered) - _MOST_LINES} more lines were never run")
    return "\n".join(said)
