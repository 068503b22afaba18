"""Checks a debugged draft: a test that can fail, then fidelity to the sources, each repaired once if necessary."""

from collections.abc import Sequence

from xkg.build.guided.checking.compared_lines import compared_lines
from xkg.build.guided.checking.debug import ROUNDS, Debugged, Trial, ask_for_repair, debug, room_for
from xkg.build.guided.checking.edits import applied
from xkg.build.guided.checking.elsewhere import Elsewhere, Search
from xkg.build.guided.checking.fidelity import judge_fidelity, listed_unmatched
from xkg.build.guided.checking.insertion import callable_components
from xkg.build.guided.checking.strengthen import proof_rank, strengthen, with_counts
from xkg.build.guided.definition_statements import statements_of
from xkg.build.guided.draft import Draft
from xkg.build.similarity.fidelity import FAITHFUL_SHARE, is_enough, is_met, share
from xkg.build.similarity.statements import statements
from xkg.errors import AnswerError
from xkg.llm.client import Ask
from xkg.model import Evidence, Fidelity, Level
from xkg.sandbox.evidence.levels import Proof
from xkg.value import Value


class Checked(Value):
    """The result of the checks. `evidence` is the code node's: of the first run, if the draft was repaired, then of its
    level. `proof` is that of `draft`, without fidelity. `refused` counts the repairs that the guard rejected, `rounds`
    those of debugging. `unrelated` is the reason why the code is not the technique's at all, `failed` the reason why a
    check has no answer."""

    draft: Draft
    proof: Proof
    evidence: tuple[Evidence, ...]
    refused: int
    rounds: int
    unrelated: str | None = None
    failed: str | None = None

    @property
    def level(self) -> Level:
        return self.evidence[-1].level


def check(
    debugged: Debugged,
    definition: str,
    trial: Trial,
    ask: Ask,
    *,
    search: Search | None = None,
    rounds: int = ROUNDS,
) -> Checked:
    """Checks a draft. A test that proves too little is strengthened once; the proven code is compared with its sources,
    and revised once if it is not faithful. What its sources are said not to do is looked for with `search` in the rest
    of the repository. Proven code is compared with its definition at the end at the latest, however small its share.
    `rounds` limits all repairs together, including those in `debugged`.

    Without a usable answer of the model, the level so far stays. Raises `ModelUnavailableError` and `BudgetError` as
    `ask` does, and what `trial` raises."""
    state, unused = debugged, ""
    if state.passed:
        state = strengthen(state, definition, trial, ask, rounds=rounds)
    elsewhere = Elsewhere(search, ask)
    fidelity, failed = _judge(state, definition, ask)
    corrected = elsewhere.corrected(state, fidelity)
    state, fidelity = corrected.state, corrected.fidelity
    if fidelity is not None and failed is None and _is_repairable(state, fidelity, corrected.untrue):
        after = revise(state, definition, fidelity, trial, ask, untrue=corrected.untrue, rounds=rounds)
        if _is_same_code(after.draft, state.draft):
            state = after
        else:
            again, failed = _judge(after, definition, ask)
            revised = elsewhere.corrected(after, again)
            after, again = revised.state, revised.fidelity
            best = _rank(after, again, revised.untrue) > _rank(state, fidelity, corrected.untrue)
            counts = {"rounds": after.rounds, "refused": after.refused, "failed": after.failed}
            unused = "" if best else _why_unused(after, again)
            state = after if best else state.model_copy(update=counts)
            fidelity = again if best else fidelity
    if failed is None and fidelity is not None and _is_uncompared(state, fidelity):
        fidelity, failed = _judge(state, definition, ask, whatever_share=True)
        corrected = elsewhere.corrected(state, fidelity)
        state, fidelity = corrected.state, corrected.fidelity
    return _checked(state, fidelity, state.failed or failed, unused)


def _is_same_code(one: Draft, other: Draft) -> bool:
    return (one.implementation, one.test) == (other.implementation, other.test)


def _why_unused(after: Debugged, fidelity: Fidelity | None) -> str:
    """Why a revision is no better than what it revises."""
    evidence = after.proof.evidence
    if evidence.level.rank < Level.TESTED.rank:
        return f"{evidence.level.value}: {evidence.reason or after.stopped or 'its test proves less'}"
    return _why_not_faithful(fidelity, "it was not compared")


def revise(
    state: Debugged,
    definition: str,
    fidelity: Fidelity,
    trial: Trial,
    ask: Ask,
    *,
    untrue: Sequence[str] = (),
    rounds: int = ROUNDS,
) -> Debugged:
    """The draft revised once by the findings and by what its documentation says wrongly (`untrue`), then debugged with
    the remaining `rounds`; it may be no better. Without a usable answer of the model, the draft is unchanged and
    `failed` is set."""
    draft = state.draft
    lines = compared_lines(draft.own_excerpt or draft.excerpt, draft.implementation)
    foreign = any(f.kind in ("foreign", "beyond") for f in fidelity.faults or ())
    removes = foreign or not is_enough(fidelity.share, fidelity.by_definition)
    inputs = {
        "definition": definition,
        "findings": _describe_findings(draft, fidelity, untrue),
        "configuration": draft.configuration,
        "sources": room_for(lines, draft.implementation, draft.test, draft.beside),
        "beside": draft.beside,
        "components": callable_components(draft),
        "documentation": draft.documentation,
    }
    state, answer = ask_for_repair(state, "revise", inputs, ask, may_remove=removes)
    if answer is None or not answer.edits:
        return state
    return with_counts(state, debug(applied(draft, answer.edits), definition, trial, ask, rounds=rounds - state.rounds))


def _is_uncompared(state: Debugged, fidelity: Fidelity) -> bool:
    """Whether proven code was not compared with the statements of its definition, for its share."""
    proven = state.proof.evidence.level.rank >= Level.TESTED.rank
    return proven and fidelity.faults is None and bool(statements_of(state.draft.definition))


def _judge(
    state: Debugged, definition: str, ask: Ask, *, whatever_share: bool = False
) -> tuple[Fidelity | None, str | None]:
    """Fidelity, and the reason why the model's part is missing. None where there are no source lines."""
    draft = state.draft
    if not statements(draft.own_excerpt or draft.excerpt):
        return None, None
    shared = share(draft.implementation, draft.excerpt, draft.scope)
    try:
        return judge_fidelity(draft, definition, state.proof, shared, ask, whatever_share=whatever_share), None
    except AnswerError as error:
        return Fidelity(share=shared), str(error)


def _is_repairable(state: Debugged, fidelity: Fidelity, untrue: Sequence[str]) -> bool:
    proven = state.proof.evidence.level.rank >= Level.TESTED.rank
    return proven and (bool(untrue) or not is_met(fidelity)) and fidelity.unrelated is None


def _rank(
    state: Debugged, fidelity: Fidelity | None, untrue: Sequence[str]
) -> tuple[bool, int, bool, int, int, float, float]:
    if fidelity is None:
        return False, proof_rank(state.proof)[0], False, -99, -99, 0.0, proof_rank(state.proof)[1]
    level, score = proof_rank(state.proof)
    proven = level >= Level.TESTED.rank
    faults = -99 if fidelity.faults is None else -len(fidelity.faults)
    related = fidelity.unrelated is None
    return proven and is_met(fidelity), level, related, -len(untrue), faults, fidelity.share, score


def _describe_findings(draft: Draft, fidelity: Fidelity, untrue: Sequence[str]) -> str:
    findings = [f"- {fault.kind}: {fault.remark}" for fault in fidelity.faults or ()]
    findings += [
        f"- documentation, where it says otherwise, and code that does not do as these lines: {each}" for each in untrue
    ]
    if not is_enough(fidelity.share, fidelity.by_definition):
        findings += [
            f"Only {fidelity.share:.1%} of the statements have a counterpart in the repository's lines"
            f" ({FAITHFUL_SHARE:.0%} are asked for). These have none:",
            listed_unmatched(draft, by_definition=False),
        ]
    return "\n".join(findings)


def _checked(state: Debugged, fidelity: Fidelity | None, failed: str | None, unused: str = "") -> Checked:
    evidence = state.proof.evidence
    update: dict[str, object] = {"fidelity": fidelity, "repairs": state.repairs}
    if evidence.level is Level.TESTED:
        if fidelity is not None and is_met(fidelity):
            update |= {"level": Level.FAITHFUL, "reason": None}
        else:
            update["reason"] = _why_not_faithful(fidelity, failed)
            if unused:
                update["reason"] = f"{update['reason']}; a revision was not used, since it was no better ({unused})"
    elif failed is not None:
        update["reason"] = f"{evidence.reason or evidence.level.value}; no further, since {failed}"
    elif state.stopped is not None and not state.passed:
        update["reason"] = f"{evidence.reason or evidence.level.value} ({state.stopped})"
    final = evidence.model_copy(update=update)
    return Checked(
        draft=state.draft,
        proof=state.proof,
        evidence=(state.first, final) if state.repairs else (final,),
        refused=state.refused,
        rounds=state.rounds,
        unrelated=fidelity.unrelated if fidelity is not None else None,
        failed=failed,
    )


def _why_not_faithful(fidelity: Fidelity | None, failed: str | None) -> str:
    if fidelity is None:
        return "fidelity not told: there are no source lines in Python to compare with"
    if fidelity.faults:
        return "not faithful: " + "; ".join(f"{fault.kind}, {fault.remark}" for fault in fidelity.faults)
    if not is_enough(fidelity.share, fidelity.by_definition):
        return f"not faithful: {fidelity.share:.1%} of its statements have a counterpart in the source lines"
    return f"fidelity not told: {failed}"
