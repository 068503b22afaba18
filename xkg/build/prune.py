"""Which techniques a published graph shows: those with code that reached the level asked for, and all above them."""

from collections.abc import Sequence

from xkg.model import Code, Level, PaperBundle, Technique


def pruned(bundle: PaperBundle, min_level: Level | None) -> PaperBundle:
    """A bundle with what it shows by the levels of its code; the same for a bundle that is pruned already. What was
    imported, or has no repository, shows what it came with."""
    if bundle.paper.origin != "build" or not bundle.repositories:
        return bundle
    return bundle.model_copy(update={"techniques": prune(bundle.techniques, bundle.code, min_level)})


def prune(techniques: Sequence[Technique], code: Sequence[Code], min_level: Level | None) -> tuple[Technique, ...]:
    """The techniques, each with `hidden` set to a reason or None; preorder is kept. A technique without code keeps the
    reason that it comes with.

    Hidden is a technique with no code at the level asked for and no visible descendant, and whatever its level code
    that was judged to do something else. `min_level` None asks of each code node the highest rung that could be tried
    for it: `executed`, `imported` without a test, `parsed` where a package that this node needs could not be had
    (`Evidence.missing`) or where nothing was run for want of a sandbox, none for what is no Python.
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
        return technique.hidden or "no code in the repository was found for it"
    fidelity = code.evidence[-1].fidelity if code.evidence else None
    if fidelity is not None and fidelity.unrelated is not None:
        return f"its code was judged to do something else: {fidelity.unrelated}"
    asked = min_level or _could_be_tried(code)
    if code.level.rank >= asked.rank:
        return None
    why = next((e.reason for e in reversed(code.evidence) if e.reason), None)
    return f"its code is at '{code.level}', below '{asked}'" + (f": {why}" if why else "")


def _could_be_tried(code: Code) -> Level:
    if code.language != "python":
        return Level.NONE
    if code.evidence and (code.evidence[-1].missing or code.evidence[-1].runner is None):
        return Level.PARSED
    return Level.EXECUTED if code.test.strip() else Level.IMPORTED
