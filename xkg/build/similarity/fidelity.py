"""Measures how much of an implementation occurs in its source lines, without running any code."""

from collections import Counter
from collections.abc import Iterator, Set
from typing import NamedTuple

from xkg.build.similarity.statements import Statement, statements, weight_of

_ALIKE = 0.6
_CANDIDATES = 6


class Unmatched(NamedTuple):
    """A statement without a counterpart. `line` is its 1-based line, and `text` is its text on a single line."""

    line: int
    text: str


class Scope(NamedTuple):
    """Selects the code to compare. Compares the statements of the implementation that begin on these `lines` with the
    first `excerpt_lines` lines of the excerpt. All other code serves only to find the names of the programs' own
    functions.

    Statements on lines in `calls` only call a component and need no counterpart, because the source contains the
    component's statements instead. Lines in `by_definition` were written from a definition, because the source has
    nothing similar."""

    lines: Set[int]
    excerpt_lines: int
    calls: Set[int] = frozenset()
    by_definition: Set[int] = frozenset()


def share(implementation: str, excerpt: str, scope: Scope | None = None) -> float:
    """Returns the fraction (0 to 1) of the implementation's statements with a counterpart in the excerpt, weighted by
    their number of operations. If `scope` is given, only statements in `scope` count.

    A counterpart is a statement that has most of the same operations, possibly together with its neighbours. Each
    operation in the excerpt is matched only once. Returns 1 if the implementation only calls components. Returns 0 if
    the implementation computes nothing, or if either program does not parse."""
    own, reference = _compared(implementation, excerpt, scope)
    matched = _matched(own, reference)
    calls = {i for i, statement in enumerate(own) if scope is not None and statement.line in scope.calls}
    whole = sum(_contribution(own[i]) for i in range(len(own)) if i in matched or i not in calls)
    if not whole:
        return 1.0 if scope is not None and scope.calls & scope.lines else 0.0
    return round(sum(_contribution(own[i]) for i in matched) / whole, 3)


def written_by_definition(implementation: str, excerpt: str, scope: Scope) -> float:
    """Returns the fraction (0 to 1) of statements that were written from a definition. These statements count in
    `share`, have no counterpart and are on lines in `scope.by_definition`. Returns 0 if no other statement has a
    counterpart."""
    own, reference = _compared(implementation, excerpt, scope)
    matched = _matched(own, reference)
    if all(own[i].line in scope.by_definition for i in matched):
        return 0.0
    counted = [i for i in range(len(own)) if i in matched or own[i].line not in scope.calls]
    outside = [i for i in counted if i not in matched and own[i].line in scope.by_definition]
    return round(sum(_contribution(own[i]) for i in outside) / sum(_contribution(own[i]) for i in counted), 3)


def unmatched(implementation: str, excerpt: str, scope: Scope | None = None) -> list[Unmatched]:
    """Returns the implementation's statements without a counterpart in the excerpt, in order, limited to `scope` if it
    is given."""
    own, reference = _compared(implementation, excerpt, scope)
    matched = _matched(own, reference)
    calls = scope.calls if scope is not None else ()
    return [Unmatched(s.line, s.text) for i, s in enumerate(own) if i not in matched and s.line not in calls]


def omitted(implementation: str, excerpt: str, most: int, scope: Scope | None = None) -> list[Unmatched]:
    """Returns the first `most` statements of the excerpt that have no counterpart in the implementation, limited to
    `scope` if it is given. A duplicate of a matched statement does not count as missing."""
    _, reference = _compared(implementation, excerpt, scope)
    matched = _matched(reference, statements(implementation))
    known = [reference[i].features for i in matched]
    missing = [s for i, s in enumerate(reference) if i not in matched and s.features not in known]
    return [Unmatched(s.line, s.text) for s in missing[:most]]


def _compared(implementation: str, excerpt: str, scope: Scope | None) -> tuple[list[Statement], list[Statement]]:
    own, reference = statements(implementation), statements(excerpt)
    if scope is None:
        return own, reference
    first = [s for s in reference if s.line <= scope.excerpt_lines]
    return [s for s in own if s.line in scope.lines], first


def _contribution(statement: Statement) -> float:
    """Returns the weight of a statement, which grows more slowly than its number of operations."""
    return float(min(statement.weight, 12.0) ** 0.5)


def _matched(own: list[Statement], reference: list[Statement]) -> set[int]:
    """Returns the indices of the statements in `own` with a counterpart in `reference`. Matches the best pairs first.
    Each match uses up the matched features of the counterpart."""
    unused = [Counter(statement.features) for statement in reference]
    pairs = sorted(
        (
            (-_alike(first, second), abs(i / len(own) - j / len(reference)), i, j)
            for i, first in enumerate(own)
            for j, second in enumerate(reference)
            if not first.features.keys().isdisjoint(second.features)
        ),
    )
    matched: set[int] = set()
    candidates: dict[int, list[int]] = {}
    for alike, _, i, j in pairs:
        candidates.setdefault(i, []).append(j)
        if i in matched or -alike <= 0:
            continue
        if _coverage(own[i], unused[j]) >= _ALIKE:
            unused[j] -= own[i].features
            matched.add(i)
    for i, statement in enumerate(own):
        if i in matched:
            continue
        for group in (group for j in candidates.get(i, ())[:_CANDIDATES] for group in _groups(j, len(reference))):
            pool: Counter[str] = Counter()
            for k in group:
                pool += unused[k]
            if _coverage(statement, pool) >= _ALIKE:
                needed = Counter(statement.features)
                for k in group:
                    used = needed & unused[k]
                    unused[k] -= used
                    needed -= used
                matched.add(i)
                break
    return matched


def _groups(j: int, count: int) -> Iterator[list[int]]:
    """Yields a candidate alone and together with its neighbours, because another program may split the same computation
    differently."""
    yield [k for k in (j, j - 1) if k >= 0]
    yield [k for k in (j, j + 1, j - 1, j + 2) if 0 <= k < count]


def _coverage(statement: Statement, pool: Counter[str]) -> float:
    """Returns the fraction of a statement's features that are in `pool`."""
    covered = sum(weight_of(name) * min(n, pool[name]) for name, n in statement.features.items())
    return covered / statement.weight


def _alike(first: Statement, second: Statement) -> float:
    """Returns Dice's coefficient for the features of two statements."""
    common = sum(weight_of(n) * min(count, second.features[n]) for n, count in first.features.items())
    return 2 * common / (first.weight + second.weight)
