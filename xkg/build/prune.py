"""Hides the techniques of a published graph without code at the required level or a visible descendant."""

from collections.abc import Sequence

from xkg.model import Code, Level, PaperBundle, Technique


def pruned(bundle: PaperBundle, min_level: Level | None) -> PaperBundle:
    """A bundle with its techniques hidden by the levels of their code; idempotent. An imported bundle, and one without
    a repository, is unchanged."""
    if bundle.paper.origin != "build" or not bundle.repositories:
        return bundle
    return bundle.model_copy(update={"techniques": prune(bundle.techniques, bundle.code, min_level)})


def prune(techniques: Sequence[Technique], code: Sequence[Code], min_level: Level | None) -> tuple[Technique, ...]:
    """The techniques in the same order, each with `hidden` set to a reason or None. A technique without code keeps its
    previous reason.

    A technique is hidden if it has no visible descendant and no code at the required level, or code that was judged to
    do something else. With `min_level` None each code node must have the highest level that was possible for it:
    `executed`, `imported` without a test, `parsed` where a package was unavailable (`Evidence.missing`) or there is no
    sandbox, none for other languages than Python.
    """
    by_technique = {c.technique: c for c in code}
    reasons = {t.id: _reason(t, by_technique.get(t.id), min_level) for t in techniques}
    visible_above: set[str] = set()
    for technique in reversed(techniques):
        if technique.parent and (reasons[technique.id] is None or technique.id in visible_above):
            visible_above.add(technique.parent)
    return tuple(t.model_copy(update={"hidden": None if t.id in visible_above else reasons[t.id]}) for t in techniques)


def _reason(technique: Technique, code: Code | None, min_level: Level | None) -> str | None:
    if code is None:
        located = technique.grounding == "doubtful"  # its places are shown with the doubt; no code is made of them
        return technique.hidden or (None if located else "no code in the repository was found for it")
    fidelity = code.evidence[-1].fidelity if code.evidence else None
    if fidelity is not None and fidelity.unrelated is not None:
        return f"its code was judged to do something else: {fidelity.unrelated}"
    required = min_level or _highest_feasible(code)
    if code.level.rank >= required.rank:
        return None
    why = next((e.reason for e in reversed(code.evidence) if e.reason), None)
    return f"its code is at '{code.level}', below '{required}'" + (f": {why}" if why else "")


def _highest_feasible(code: Code) -> Level:
    if code.language != "python":
        return Level.NONE
    if code.evidence and (code.evidence[-1].missing or code.evidence[-1].runner is None):
        return Level.PARSED
    return Level.EXECUTED if code.test.strip() else Level.IMPORTED
