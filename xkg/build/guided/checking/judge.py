"""Checks whether a draft's test can fail and whether its module follows the sources. Repairs each draft at most
once."""

from collections.abc import Mapping, Sequence

from xkg.build.code.codebase import Codebase
from xkg.build.dependency_order import each_of, waves
from xkg.build.guided.checking.compared_lines import compared_lines
from xkg.build.guided.checking.components import callable_components, own_code
from xkg.build.guided.checking.debug import ROUNDS, Debugged, Trial, ask_for_repair, debug, with_old_test
from xkg.build.guided.checking.edits import applied
from xkg.build.guided.checking.fidelity import listed_unmatched, review, review_of_change
from xkg.build.guided.checking.strengthen import proof_rank, strengthen, with_counts
from xkg.build.guided.code_answers import Shared
from xkg.build.guided.draft import Draft
from xkg.build.guided.lookup import Lookup
from xkg.build.similarity.fidelity import share
from xkg.build.similarity.statements import statements
from xkg.build.slicing.compose import compose
from xkg.errors import AnswerError
from xkg.llm.client import Ask
from xkg.model import FAITHFUL_SHARE, Evidence, Fidelity, Level
from xkg.value import Value


class Checked(Value):
    """The result of checking a draft. `evidence` is stored on the code node. After a repair, `evidence` starts with the
    first run. `refused` counts repairs rejected by the guard, and `failed` explains why a check has no answer."""

    draft: Draft
    evidence: tuple[Evidence, ...]
    refused: int
    failed: str | None = None

    @property
    def level(self) -> Level:
        return self.evidence[-1].level


def proved(draft: Draft, trial: Trial, ask: Ask) -> Debugged:
    """Debugs a draft, and strengthens its test once if it proves too little."""
    state = debug(draft, trial, ask)
    return strengthen(state, trial, ask) if state.passed else state


def check(
    states: Sequence[Debugged],
    trial: Trial,
    ask: Ask,
    codebase: Codebase,
    shared: Shared,
    *,
    jobs: int = 1,
) -> list[Checked]:
    """Checks drafts, `jobs` at a time. A single question covers all proven drafts and begins with the same text
    (`shared`) as the question that produced them. The model may look at other places in the codebase.

    Unfaithful drafts are revised once. The review of a revision covers only the changes. Composites then use the
    revised code of their components.

    Without a usable answer, a draft keeps its level. Raises `ModelUnavailableError` and `BudgetError` like `ask`, and
    every error raised by `trial`."""
    reviewed = {each[0].draft.name: each for each in _review(states, ask, codebase, shared)}
    done: dict[str, Checked] = {}

    def revised(name: str) -> Checked:
        state, fidelity, failed = reviewed[name]
        return _revised(_refreshed(state, done, trial), fidelity, failed, trial, ask)

    needs = {name: [c.name for c in state.draft.components] for name, (state, _, _) in reviewed.items()}
    for wave in waves(list(reviewed), needs):
        done |= zip(wave, each_of(revised, wave, jobs), strict=True)
    return [done[state.draft.name] for state in states]


def _refreshed(state: Debugged, done: Mapping[str, Checked], trial: Trial) -> Debugged:
    """Returns the draft with its components' current code, or unchanged if its test would then prove less."""
    draft = state.draft
    new = {c.name: done[c.name].draft.implementation for c in draft.components if c.name in done}
    if all(new.get(c.name, c.implementation) == c.implementation for c in draft.components):
        return state
    components = [c.model_copy(update={"implementation": new.get(c.name, c.implementation)}) for c in draft.components]
    composed = compose(own_code(draft), [each.part for each in components])
    if composed.problem or not composed.used:
        return state
    update = {"implementation": composed.source, "components": tuple(components[i] for i in composed.used)}
    changed = draft.model_copy(update=update)
    proof = trial(changed)
    better = proof_rank(proof) >= proof_rank(state.proof)
    return state.model_copy(update={"draft": changed, "proof": proof}) if better else state


def _revised(state: Debugged, fidelity: Fidelity | None, failed: str | None, trial: Trial, ask: Ask) -> Checked:
    unused = ""
    if fidelity is not None and failed is None and _is_repairable(state, fidelity):
        after = revise(state, fidelity, trial, ask)
        if _is_same_code(after.draft, state.draft):
            state = after
        else:
            again, failed = _review_again(state, fidelity, after, ask)
            best = _rank(after, again) > _rank(state, fidelity)
            counts = {"rounds": after.rounds, "refused": after.refused, "failed": after.failed}
            unused = "" if best else _why_unused(after, again)
            state = after if best else state.model_copy(update=counts)
            fidelity = again if best else fidelity
    return _checked(state, fidelity, state.failed or failed, unused)


def _is_same_code(one: Draft, other: Draft) -> bool:
    return (one.implementation, one.test) == (other.implementation, other.test)


def _why_unused(after: Debugged, fidelity: Fidelity | None) -> str:
    """Explains why a revision is no better than the original code."""
    evidence = after.proof.evidence
    if evidence.level.rank < Level.TESTED.rank:
        return f"{evidence.level.value}: {evidence.reason or after.stopped or 'its test proves less'}"
    return _why_not_faithful(fidelity, "it was not compared")


def revise(state: Debugged, fidelity: Fidelity, trial: Trial, ask: Ask) -> Debugged:
    """Revises the draft once based on the findings, then debugs it in the remaining rounds. The revision may be worse
    than the original. Without a usable answer, the draft is unchanged and `failed` is set."""
    draft = state.draft
    foreign = any(f.kind in ("foreign", "beyond") for f in fidelity.faults or ())
    removes = foreign or not fidelity.is_enough
    inputs = {
        "definition": draft.text,
        "findings": _describe_findings(draft, fidelity),
        "sources": compared_lines(draft, draft.test),
        "components": callable_components(draft),
        "documentation": draft.documentation,
    }
    state, answer = ask_for_repair(state, "revise", inputs, ask, may_remove=removes)
    if answer is None or not answer.edits:
        return state
    changed, _ = with_old_test(applied(draft, answer.edits), draft, trial)
    return with_counts(state, debug(changed, trial, ask, rounds=ROUNDS - state.rounds))


def _share(draft: Draft) -> float:
    return share(draft.implementation, draft.excerpt, draft.scope)


def _is_proven(state: Debugged) -> bool:
    return state.proof.evidence.level.rank >= Level.TESTED.rank


def _review(
    states: Sequence[Debugged], ask: Ask, codebase: Codebase, shared: Shared
) -> list[tuple[Debugged, Fidelity | None, str | None]]:
    """Returns each draft with the source lines opened during its review, its fidelity, and the reason for any missing
    review.

    The fidelity is None if there are no source lines. If the code is not proven, the fidelity contains only the
    share."""
    found: list[tuple[Debugged, Fidelity | None, str | None]] = [
        (state, Fidelity(share=_share(state.draft)) if _has_source_lines(state.draft) else None, None)
        for state in states
    ]
    asked = [i for i, (state, fidelity, _) in enumerate(found) if fidelity is not None and _is_proven(state)]
    for i, result in zip(asked, _answered([states[i] for i in asked], ask, codebase, shared), strict=True):
        found[i] = result
    return found


def _answered(
    states: Sequence[Debugged], ask: Ask, codebase: Codebase, shared: Shared
) -> list[tuple[Debugged, Fidelity | None, str | None]]:
    """Returns the reviews of proven drafts. If there is no usable answer, asks again about each half of the drafts."""
    if not states:
        return []
    lookup = Lookup(codebase)
    try:
        answers = review([state.draft for state in states], ask, lookup, shared)
    except AnswerError as error:
        half = len(states) // 2
        if half:
            parts = (states[:half], states[half:])
            return [each for part in parts for each in _answered(part, ask, codebase, shared)]
        return [(states[0], Fidelity(share=_share(states[0].draft)), str(error))]
    found: list[tuple[Debugged, Fidelity | None, str | None]] = []
    for state, fidelity in zip(states, answers, strict=True):
        draft = lookup.added_to(state.draft)
        best = max(_share(state.draft), _share(draft))
        reviewed = state.model_copy(update={"draft": draft})
        found.append((reviewed, fidelity.model_copy(update={"share": best}), None))
    return found


def _has_source_lines(draft: Draft) -> bool:
    return bool(statements(draft.own_excerpt or draft.excerpt))


def _review_again(
    before: Debugged, fidelity: Fidelity, after: Debugged, ask: Ask
) -> tuple[Fidelity | None, str | None]:
    if not _is_proven(after):
        return Fidelity(share=_share(after.draft)), None
    try:
        return review_of_change(before.draft, fidelity, after.draft, _share(after.draft), ask), None
    except AnswerError as error:
        return Fidelity(share=_share(after.draft)), str(error)


def _is_repairable(state: Debugged, fidelity: Fidelity) -> bool:
    return _is_proven(state) and not fidelity.is_met and fidelity.unrelated is None


def _rank(state: Debugged, fidelity: Fidelity | None) -> tuple[bool, int, bool, int, float, float]:
    level, score = proof_rank(state.proof)
    if fidelity is None:
        return False, level, False, -99, 0.0, score
    faults = -99 if fidelity.faults is None else -len(fidelity.faults)
    return _is_proven(state) and fidelity.is_met, level, fidelity.unrelated is None, faults, fidelity.share, score


def _describe_findings(draft: Draft, fidelity: Fidelity) -> str:
    findings = [f"- {fault.kind}: {fault.remark}" for fault in fidelity.faults or ()]
    if not fidelity.is_enough:
        findings += [
            f"Only {fidelity.share:.1%} of the statements have a counterpart in the repository's lines"
            f" ({FAITHFUL_SHARE:.0%} are required). These have none:",
            listed_unmatched(draft, by_definition=False),
        ]
    return "\n".join(findings)


def _checked(state: Debugged, fidelity: Fidelity | None, failed: str | None, unused: str = "") -> Checked:
    evidence = state.proof.evidence
    update: dict[str, object] = {"fidelity": fidelity, "repairs": state.repairs}
    if evidence.level is Level.TESTED:
        if fidelity is not None and fidelity.is_met:
            update |= {"level": Level.FAITHFUL, "reason": None}
        else:
            update["reason"] = _why_not_faithful(fidelity, failed)
            if unused:
                update["reason"] = f"{update['reason']}; a revision was not used, since it was no better ({unused})"
    elif failed is not None:
        update["reason"] = f"{evidence.reason or evidence.level.value}; not checked further because {failed}"
    elif state.stopped is not None and not state.passed:
        update["reason"] = f"{evidence.reason or evidence.level.value} ({state.stopped})"
    final = evidence.model_copy(update=update)
    return Checked(
        draft=state.draft,
        evidence=(state.first, final) if state.repairs else (final,),
        refused=state.refused,
        failed=failed,
    )


def _why_not_faithful(fidelity: Fidelity | None, failed: str | None) -> str:
    if fidelity is None:
        return "fidelity unknown: there are no Python source lines to compare with"
    if fidelity.faults:
        return "not faithful: " + "; ".join(f"{fault.kind}, {fault.remark}" for fault in fidelity.faults)
    if not fidelity.is_enough:
        return f"not faithful: {fidelity.share:.1%} of its statements have a counterpart in the source lines"
    return f"fidelity unknown: {failed}"
