"""How much of an implementation stands in the source lines that it was made from, told without running or asking."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xkg.build.code_similarity import Statement, statements, weight_of
from xkg.model import Fidelity

FAITHFUL_SHARE = 0.7
_ALIKE = 0.6
_NEIGHBOURS = 3
_CANDIDATES = 6
# Statements of an excerpt that stand this near to one with a counterpart are most likely of the same technique.
_NEAR = 4


class Unmatched(NamedTuple):
    """A statement without a counterpart: its 1-based line and its text on one line."""

    line: int
    text: str


def share(implementation: str, excerpt: str) -> float:
    """The share of the implementation's statements with a counterpart in the excerpt, 0..1, each counted by how much
    it computes. A counterpart is a statement, or a few that feed it, with most of the same operations on the same
    kinds of operands; no statement of the excerpt vouches for more than it holds itself. 0 where the implementation
    computes nothing, or neither can be read."""
    found = statements(implementation)
    matched = _matched(found, statements(excerpt))
    whole = sum(_counts(statement) for statement in found)
    return round(sum(_counts(found[i]) for i in matched) / whole, 3) if whole else 0.0


def unmatched(implementation: str, excerpt: str) -> list[Unmatched]:
    """The statements of the implementation that have no counterpart in the excerpt, in the order of its lines."""
    found = statements(implementation)
    matched = _matched(found, statements(excerpt))
    return [Unmatched(s.line, s.text) for i, s in enumerate(found) if i not in matched]


def left_out(implementation: str, excerpt: str, most: int) -> list[Unmatched]:
    """The statements of the excerpt that have no counterpart in the implementation, in the order of its lines: at most
    `most`, those among statements that have one first, and of these what computes most."""
    given = statements(excerpt)
    matched = _matched(given, statements(implementation))

    def telling(i: int) -> tuple[bool, float, int]:
        return not any(abs(i - j) <= _NEAR for j in matched), -given[i].weight, i

    # Nothing is left out where the same stands in the lines twice.
    there = [given[j].features for j in matched]
    missed = [i for i in range(len(given)) if i not in matched and given[i].features not in there]
    return [Unmatched(given[i].line, given[i].text) for i in sorted(sorted(missed, key=telling)[:most])]


def _counts(statement: Statement) -> float:
    """A statement of many operations says more than one of a single, but is one statement still."""
    return float(min(statement.weight, 12.0) ** 0.5)


def _matched(found: list[Statement], given: list[Statement]) -> set[int]:
    """The indices of the statements in `found` with a counterpart in `given`, best pairs first; what a counterpart
    vouched for is used up."""
    left = [Counter(statement.features) for statement in given]
    pairs = sorted(
        (
            (-_alike(one, other), abs(i / len(found) - j / len(given)), i, j)
            for i, one in enumerate(found)
            for j, other in enumerate(given)
            if not one.features.keys().isdisjoint(other.features)
        ),
    )
    matched: set[int] = set()
    candidates: dict[int, list[int]] = {}
    for alike, _, i, j in pairs:
        candidates.setdefault(i, []).append(j)
        if i in matched or -alike <= 0:
            continue
        if _held(found[i], left[j]) >= _ALIKE:
            left[j] -= found[i].features
            matched.add(i)
    for i, statement in enumerate(found):
        if i in matched:
            continue
        for group in _groups(candidates.get(i, ())[:_CANDIDATES], given):
            pool: Counter[str] = Counter()
            for k in group:
                pool += left[k]
            if _held(statement, pool) >= _ALIKE:
                needed = Counter(statement.features)
                for k in group:
                    taken = needed & left[k]
                    left[k] -= taken
                    needed -= taken
                matched.add(i)
                break
    return matched


def _groups(candidates: Sequence[int], given: list[Statement]) -> Iterator[list[int]]:
    """A statement with the nearest of those that feed it, directly or through another; then with those beside it."""
    for j in candidates:
        group = [j]
        for k in group:
            for source in given[k].sources:
                if source not in group and len(group) <= _NEIGHBOURS:
                    group.append(source)
        yield group
    for j in candidates:
        yield [k for k in (j, j + 1, j - 1, j + 2) if 0 <= k < len(given)]


def _held(statement: Statement, pool: Counter[str]) -> float:
    """The share of a statement's features that `pool` holds."""
    held = sum(weight_of(name) * min(n, pool[name]) for name, n in statement.features.items())
    return held / statement.weight


def _alike(one: Statement, other: Statement) -> float:
    """Dice's coefficient of two statements' features."""
    common = sum(weight_of(n) * min(count, other.features[n]) for n, count in one.features.items())
    return 2 * common / (one.weight + other.weight)


def is_met(fidelity: Fidelity) -> bool:
    """Whether an implementation is faithful: enough of it stands in the sources, and a language model found no
    fault."""
    return fidelity.share >= FAITHFUL_SHARE and fidelity.faults == ()
