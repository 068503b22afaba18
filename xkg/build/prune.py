"""Hides techniques in a published graph. After a build with a language model, hides techniques with neither code at the
required level nor a visible descendant. Otherwise, hides only doubtful techniques."""

from collections.abc import Sequence

from xkg.build.techniques.tree import DOUBT
from xkg.model import Code, Level, PaperBundle, Technique


def pruned(bundle: PaperBundle, min_level: Level | None, *, needs_code: bool = False) -> PaperBundle:
    """Hides techniques in the bundle based on their code's levels. The function is idempotent. Imported bundles and
    bundles without a repository are returned unchanged."""
    if bundle.paper.origin != "build" or not bundle.repositories:
        return bundle
    needs_code = needs_code or any(code.test.strip() for code in bundle.code)  # only a language model writes tests
    techniques = prune(bundle.techniques, bundle.code, min_level, needs_code=needs_code)
    return bundle.model_copy(update={"techniques": techniques})


def prune(
    techniques: Sequence[Technique], code: Sequence[Code], min_level: Level | None, *, needs_code: bool = False
) -> tuple[Technique, ...]:
    """Returns the techniques in the same order. Sets `hidden` to a reason or None. A technique without code keeps its
    previous reason, and a doubtful one remains doubtful. A technique without a visible descendant is hidden if its code
    is needed but missing, is below the required level, or does something else according to its review. If `min_level`
    is None, the highest possible level is required: `executed`, or `parsed` if there is no sandbox or a package was
    unavailable (`Evidence.missing`). For languages other than Python, no level is required. Code without a test was
    extracted from the repository without a model and does not need a level. Static analysis locates only a few
    techniques, so hiding all others would hide too much."""
    by_technique = {c.technique: c for c in code}
    needs_code = needs_code or min_level is not None
    reasons = {t.id: _reason(t, by_technique.get(t.id), min_level, needs_code) for t in techniques}
    visible_above: set[str] = set()
    for technique in reversed(techniques):
        if technique.parent and (reasons[technique.id] is None or technique.id in visible_above):
            visible_above.add(technique.parent)
    return tuple(t.model_copy(update={"hidden": None if t.id in visible_above else reasons[t.id]}) for t in techniques)


def _reason(technique: Technique, code: Code | None, min_level: Level | None, needs_code: bool) -> str | None:
    if technique.hidden == DOUBT:
        return DOUBT
    if code is None:
        # A doubtful location is marked as doubtful and gets no code, so it can never reach a required level.
        located = technique.grounding == "doubtful" and min_level is None
        missing = "no code for it was found in the repository" if needs_code and not located else None
        return technique.hidden or missing
    fidelity = code.evidence[-1].fidelity if code.evidence else None
    if fidelity is not None and fidelity.unrelated is not None:
        return f"its code was judged to do something else: {fidelity.unrelated}"
    if code.level is Level.CLAIMED:  # the sender of the code decided whether to hide the technique
        return technique.hidden
    required = min_level or _highest_feasible(code)
    if code.level.rank >= required.rank:
        return None
    why = next((e.reason for e in reversed(code.evidence) if e.reason), None)
    return f"its code is at '{code.level}', below '{required}'" + (f": {why}" if why else "")


def _highest_feasible(code: Code) -> Level:
    if code.language != "python" or not code.test.strip():
        return Level.NONE
    if code.evidence and (code.evidence[-1].missing or code.evidence[-1].runner is None):
        return Level.PARSED
    return Level.EXECUTED
