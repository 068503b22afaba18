"""Matches symbols of a stored repository to the symbols of a later copy of it.

Name and path identify most symbols; a renamed or moved symbol is recognised by the fingerprint of its body. A symbol
without a good match is reported as missing: wrong lines are worse than none."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xkg.build.code.codebase import Codebase
from xkg.build.code.fingerprint import similarity
from xkg.model import LineRange, Symbol

# Less than one in a hundred pairs of unrelated functions in a repository is more alike than 0.4.
_BODY_OF_SAME_NAME = 0.4
_BODY_OF_ANY_NAME = 0.7
_ALIEN = 0.2
# A copy that shares fewer places is a different repository, which merely also has a `train.py` with a `main`.
_RELATED = 0.2
_MOST_PAIRS = 200_000

_Place = tuple[str, str, str]


@dataclass(frozen=True)
class Match:
    """A symbol of the copy. `likeness` is 1 if name, place and body are unchanged, otherwise lower."""

    symbol: Symbol
    likeness: float


def relocate(requested: Sequence[Symbol], stored: Sequence[Symbol], copy: Codebase) -> dict[str, Match]:
    """Ids of `requested` → their matches in `copy`, without the missing ones. `stored` are all symbols of the
    repository that `requested` come from. A symbol of the copy matches at most one stored symbol of its category."""
    matcher = _Matcher(stored, [source.symbol for source in copy.symbols().values()])
    pairs = [(score, old, new) for old in matcher.with_rivals(requested) for new, score in matcher.candidates(old)]
    matches: dict[str, Match] = {}
    used: set[str] = set()
    # Of symbols with the same name and score, the one with the nearest line wins.
    for score, old, new in sorted(pairs, key=lambda p: (-p[0], abs(p[1].start_line - p[2].start_line), p[1].id)):
        if old.id not in matches and new.id not in used:
            matches[old.id] = Match(new, round(score, 4))
            used.add(new.id)
    return {symbol.id: matches[symbol.id] for symbol in requested if symbol.id in matches}


def moved_focus(focus: Sequence[LineRange], old: Symbol, new: Symbol) -> tuple[LineRange, ...]:
    """The ranges of `old`, moved to `new`. Empty if the length changed, since lines within the symbol are then
    unknown."""
    if new.end_line - new.start_line != old.end_line - old.start_line:
        return ()
    by = new.start_line - old.start_line
    return tuple(LineRange(start_line=at.start_line + by, end_line=at.end_line + by, why=at.why) for at in focus)


class _Matcher:
    """One stored repository against one copy of it."""

    def __init__(self, stored: Sequence[Symbol], current: Sequence[Symbol]) -> None:
        self._sketched = any(symbol.fingerprint for symbol in stored)
        self._root = _moved_root({s.path for s in stored}, {s.path for s in current})
        self._stored: dict[_Place, list[Symbol]] = {}
        for symbol in stored:
            self._stored.setdefault(self._place(symbol), []).append(symbol)
        self._current: dict[_Place, list[Symbol]] = {}
        for symbol in current:
            self._current.setdefault((_category(symbol), symbol.path, symbol.qualified_name), []).append(symbol)
        self._names = Counter((_category(symbol), symbol.qualified_name) for symbol in current)
        self._missing = [s for place, symbols in self._stored.items() if place not in self._current for s in symbols]
        # Only added symbols can have moved: a symbol at the place of another stored symbol is that symbol.
        self._added = [s for place, symbols in self._current.items() if place not in self._stored for s in symbols]
        self._related = len(self._missing) <= (1 - _RELATED) * len(stored)

    def with_rivals(self, requested: Sequence[Symbol]) -> list[Symbol]:
        """The requested symbols and the stored ones that compete for the same matches: those with the same name and
        place, and those missing from their place."""
        rivals = [other for symbol in requested for other in self._stored[self._place(symbol)]]
        if len(self._missing) * len(self._added) <= _MOST_PAIRS:
            rivals += self._missing
        return list({symbol.id: symbol for symbol in (*requested, *rivals)}.values())

    def candidates(self, old: Symbol) -> Iterator[tuple[Symbol, float]]:
        """Possible matches of `old` in the copy, with scores in 0..1."""
        place = self._place(old)
        scored = [(new, self._score_in_place(old, new)) for new in self._current.get(place, ())]
        if self._related:
            scored += [(new, self._score_moved(old, new)) for new in self._added if _category(new) == place[0]]
        yield from ((new, score) for new, score in scored if score)

    def _score_in_place(self, old: Symbol, new: Symbol) -> float:
        body = self._body(old, new)
        if body is None:
            body = 1.0 if old.signature == new.signature or not self._sketched else 0.5
        elif body < _ALIEN and not self._related:
            return 0.0
        return 0.6 + 0.4 * body

    def _score_moved(self, old: Symbol, new: Symbol) -> float:
        body = self._body(old, new)
        names = _name_likeness(old, new)
        if body is None:
            # Only the name can be compared. That is enough if it is unique.
            alone = self._names[_category(new), new.qualified_name] == 1 and self._place(old) not in self._current
            return 0.5 if names == 1.0 and old.qualified_name and old.signature == new.signature and alone else 0.0
        if body < (_BODY_OF_SAME_NAME if names else _BODY_OF_ANY_NAME):
            return 0.0
        return 0.65 * body + 0.2 * names + 0.14 * (self._place(old)[1] == new.path)

    def _body(self, old: Symbol, new: Symbol) -> float | None:
        """The similarity of the bodies; None if they cannot be compared: both are short, or stored without
        fingerprints."""
        if not self._sketched or not (old.fingerprint or new.fingerprint):
            return None
        return similarity(old.fingerprint, new.fingerprint) if old.fingerprint and new.fingerprint else 0.0

    def _place(self, symbol: Symbol) -> _Place:
        """The category, path and name that a stored symbol has in the copy if nothing but the root changed."""
        before, after = self._root
        path = after + symbol.path.removeprefix(before) if symbol.path.startswith(before) else symbol.path
        return _category(symbol), path, symbol.qualified_name


def _moved_root(stored: set[str], current: set[str]) -> tuple[str, str]:
    """The prefix that stored paths lose and the one that they get instead, for a copy with another root or package
    name. Both are empty if any path is unchanged."""
    if stored & current:
        return "", ""
    counted = Counter(path.rpartition("/")[2] for path in current)
    only = {name: path for path in current if counted[name := path.rpartition("/")[2]] == 1}
    roots: Counter[tuple[str, str]] = Counter()
    for path in stored:
        if (new := only.get(path.rpartition("/")[2])) is not None:
            old_parts, new_parts = path.split("/"), new.split("/")
            while old_parts and new_parts and old_parts[-1] == new_parts[-1]:
                old_parts.pop()
                new_parts.pop()
            roots["".join(f"{part}/" for part in old_parts), "".join(f"{part}/" for part in new_parts)] += 1
    return max(roots, key=lambda root: (roots[root], root), default=("", ""))


def _category(symbol: Symbol) -> str:
    """The category of a symbol. Kinds that can change into one another share one: a function moved into a class is a
    method."""
    return "function" if symbol.kind == "method" else symbol.kind


def _name_likeness(old: Symbol, new: Symbol) -> float:
    """1 for the same name, .7 for the same last part of it, otherwise 0."""
    one, other = (symbol.qualified_name or symbol.path.rpartition("/")[2] for symbol in (old, new))
    return 1.0 if one == other else 0.7 * (one.rpartition(".")[2] == other.rpartition(".")[2])
