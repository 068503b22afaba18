"""The guard of repairs: rejects repairs that assert less, hide an error or fake a result.

It compares the syntax trees of two drafts. A repair may change code and expected values; the guard's complaint is in
words for the model, which is then asked again. The guard does not prove a repair correct: test, mutants and fidelity
check do. It prevents the cheap ways around them.
"""

import ast
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence, Set

from xkg.build.code.languages.python import parse_ast
from xkg.build.guided.draft import Draft
from xkg.build.guided.repair_guard.assertion_strength import ROUNDING, Strength
from xkg.build.guided.repair_guard.assertions import Assertion, assertions
from xkg.build.guided.repair_guard.hollowing import hollowed, removed
from xkg.build.guided.repair_guard.loopholes import swallowed, tricks
from xkg.build.guided.repair_guard.names import public_names, short
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.sandbox.evidence.tampering import bound_names

_EMPTY = ast.Module([], [])


def complaint(before: Draft, after: Draft, *, may_remove: bool = False) -> str | None:
    """The faults of a repair, in words for the model; None where there are none.

    With `may_remove` the repair may remove logic that is foreign to the sources from the implementation, but not all
    that a public function does; with a whole function that has no counterpart there go the assertions about it alone.
    """
    trees: list[ast.Module] = []
    for name, source in (("implementation", after.implementation), ("test", after.test)):
        try:
            trees.append(syntax_tree(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            where = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
            reason = error.msg if isinstance(error, SyntaxError) else str(error) or "nested too deeply"
            return f"the {name} does not parse after the repair: {reason}{where}"
    code, test = trees
    old_code, old_test = parse_ast(before.implementation), parse_ast(before.test)
    try:
        gone = removed(old_code, code, before.excerpt) if may_remove and old_code is not None else set()
        found = [
            *tricks("implementation", old_code or _EMPTY, code),
            *tricks("test", old_test or _EMPTY, test),
            *swallowed("implementation", old_code or _EMPTY, code),
            *swallowed("test", old_test or _EMPTY, test),
            *_test_faults(before, old_code, old_test, code, test, gone),
            *(hollowed(old_code, code, test, before.excerpt, may_remove=may_remove) if old_code is not None else ()),
        ]
    except RecursionError:
        return "the repair is nested more deeply than it can be checked"
    return "; ".join(list(dict.fromkeys(found))[:5]) or None


# --- assertions


def _test_faults(
    before: Draft,
    old_code: ast.Module | None,
    old_test: ast.Module | None,
    code: ast.Module,
    test: ast.Module,
    gone: Set[str],
) -> Iterator[str]:
    names = public_names(code)
    old_names = public_names(old_code) if old_code is not None else names
    bound = bound_names(test) - {"main"}
    for name in sorted((names | old_names) & bound - (bound_names(old_test) if old_test is not None else set())):
        yield f"the test binds {name} itself, so that it no longer tests the implementation's"
    current = assertions(test, names)
    if old_test is None:
        previous_count = sum(line.lstrip().startswith("assert") for line in before.test.splitlines())
        if len(current) < previous_count:
            yield f"the test had {previous_count} assertions and has {len(current)} that can fail; keep every one"
        return
    excused = _only_about(old_test, gone, old_names) if gone else set()
    yield from _weaker([a for a in assertions(old_test, old_names) if (a.line, a.text) not in excused], current)


def _only_about(test: ast.Module, gone: Set[str], names: Set[str]) -> set[tuple[int, str]]:
    """The assertions, by line and text, that look at what functions of `gone` give and at none of the other `names`."""
    about, others = ({(a.line, a.text) for a in assertions(test, each) if a.looks} for each in (gone, names - gone))
    return about - others


def _weaker(old: Sequence[Assertion], new: Sequence[Assertion]) -> Iterator[str]:
    """Complaints about assertions of `old` without an equally strong counterpart in `new`."""
    left = list(new)
    unmatched: list[Assertion] = []
    for assertion in old:
        same = next((a for a in left if a.text == assertion.text and weakened(assertion, a) is None), None)
        if same is None:
            unmatched.append(assertion)
        else:
            left.remove(same)
    for assertion in sorted(unmatched, key=lambda a: -a.strength):
        ranked = sorted(left, key=lambda a: -_similar(assertion, a))
        equal = next((a for a in ranked if weakened(assertion, a) is None), None)
        if equal is not None:
            left.remove(equal)
            continue
        nearest = ranked[0] if ranked and _similar(assertion, ranked[0]) > 0.5 else None
        why = weakened(assertion, nearest) if nearest is not None else None
        quoted = f"`{short(assertion.written)}`"
        if nearest is None or why is None:
            yield f"{quoted} was dropped, moved where it cannot fail, or replaced by what always holds: keep it"
        else:
            left.remove(nearest)
            yield f"{quoted} became weaker: {why}"


def weakened(old: Assertion, new: Assertion) -> str | None:
    """The reason why `new` is weaker than `old`; None where it is not."""
    extra = Counter(new.around.conditions) - Counter(old.around.conditions)
    if extra:
        return f"it only runs under `{short(next(iter(extra)))}`"
    if new.strength < old.strength:
        return f"`{short(new.written)}` holds for more values than before"
    if new.alternatives > old.alternatives:
        return "`or` lets more values pass"
    if new.looks < old.looks:
        return "it no longer looks at what the implementation gives"
    if old.independent and not new.independent:
        return "what it expects is computed by the code under test itself"
    if old.strength is Strength.VALUE and new.strength is Strength.VALUE:
        loosest = max(old.tolerance or 0.0, ROUNDING)
        if (new.tolerance or 0.0) > loosest * 1.001:
            return f"its tolerance is looser (at most {loosest:g}, as a number)"
    if new.values is not None and old.values is not None and new.values < old.values:
        return "it expects fewer values than before"
    # of an assertion that stands as it did, what it expects may be an element now
    same_results = new.written == old.written and new.narrow_results <= old.narrow_results
    if new.narrow > max(old.narrow, 1) and not same_results:
        return "it compares a part or a summary instead of all values"
    if old.bound is not None and new.bound is not None and old.bound[0] == new.bound[0]:
        (side, was), (_, now) = old.bound, new.bound
        if _stem(old) == _stem(new) and (now > was if side == "<" else now < was):
            return "its bound is looser; state the value that the code should give"
    return None


def _stem(assertion: Assertion) -> str:
    """An assertion without its numbers."""
    return "".join(c for c in assertion.text if not (c.isdigit() or c in ".-"))


def _similar(one: Assertion, other: Assertion) -> float:
    return difflib.SequenceMatcher(None, one.text, other.text, autojunk=False).ratio()
