"""Symbols of a stored repository, found again in a copy of it that moved on.

What a symbol is called and where it stands tells most of them; a renamed or moved one is known by the sketch of its
body. A symbol that is nowhere well matched is gone: the lines of something else are worse than none.

Files and symbols are compared with those alone that share a name, the end of a path or a band of the sketch with them,
so that of 3,000 files each is compared with some fifteen others. A band is three digits in one place: of
sketches that agree in half of their digits, one pair in sixteen shares none.
"""

import difflib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Generic, TypeVar

from xkg.build.code.codebase import Codebase
from xkg.build.code.fingerprint import similarity
from xkg.model import Symbol

# Of unrelated functions of one repository, fewer than one pair in a hundred is more alike than 0.4.
_BODY_OF_SAME_NAME = 0.4
_BODY_OF_ANY_NAME = 0.7
_ALIEN = 0.2
_SAME_FILE = 0.5
# Less of its names than this, and the copy is of another repository that shares a `train.py` with a `main`.
_RELATED = 0.2
_MOST_PAIRS = 200_000
_BAND = 3  # digits
_DEEPEST = 16  # parts of a path
# What more files, or symbols, share than this tells none of them from the others.
_MOST_ALIKE = 20
_MOST_NAMESAKES = 1000

Place = tuple[str, str]


@dataclass(frozen=True)
class Found:
    """A symbol as the copy has it; `likeness` is 1 where name, place and body are the same, lower the less are."""

    symbol: Symbol
    likeness: float


def relocate(wanted: Sequence[Symbol], stored: Sequence[Symbol], copy: Codebase) -> dict[str, Found]:
    """Ids of `wanted` → what they are in `copy`; those that are gone are left out. `stored` are all symbols of the
    repository that `wanted` come from. No symbol of the copy is given for two of one kind."""
    there = [source.symbol for source in copy.symbols().values()]
    paths = _paths(stored, there)
    matcher = _Matcher(stored, there, paths)
    pairs = [(score, old, new) for old in matcher.with_rivals(wanted) for new, score in matcher.candidates(old)]
    found: dict[str, Found] = {}
    taken: set[str] = set()
    # Of several of one name the nearest is the same, all else being equal.
    for score, old, new in sorted(pairs, key=lambda p: (-p[0], abs(p[1].start_line - p[2].start_line), p[1].id)):
        if old.id not in found and new.id not in taken:
            found[old.id] = Found(new, round(score, 4))
            taken.add(new.id)
    return {symbol.id: found[symbol.id] for symbol in wanted if symbol.id in found}


class _Matcher:
    """One stored repository against one copy of it."""

    def __init__(self, stored: Sequence[Symbol], there: Sequence[Symbol], paths: Mapping[str, str]) -> None:
        self._paths = paths
        self._sketched = any(symbol.fingerprint for symbol in stored)
        self._stored: dict[tuple[str, Place], list[Symbol]] = {}
        for symbol in stored:
            self._stored.setdefault((_sort(symbol), self._place(symbol)), []).append(symbol)
        self._there: dict[tuple[str, Place], list[Symbol]] = {}
        for symbol in there:
            self._there.setdefault((_sort(symbol), (symbol.path, symbol.qualified_name)), []).append(symbol)
        self._names = Counter((_sort(symbol), symbol.qualified_name) for symbol in there)
        places = {(_sort(symbol), (symbol.path, symbol.qualified_name)) for symbol in there}
        self._gone = [s for key, found in self._stored.items() if key not in places for s in found]
        fresh = [s for s in there if (_sort(s), (s.path, s.qualified_name)) not in self._stored]
        self._new = len(fresh)
        self._fresh = _Shared(((symbol, _marks_of_symbol(symbol)) for symbol in fresh), _MOST_NAMESAKES)
        self._related = len(self._gone) <= (1 - _RELATED) * len(stored)

    def with_rivals(self, wanted: Iterable[Symbol]) -> list[Symbol]:
        """Wanted symbols and the stored ones that may have become what they seem to be: those of the same name in the
        same place, and those that are gone from theirs."""
        rivals = [other for symbol in wanted for other in self._stored[_sort(symbol), self._place(symbol)]]
        if self._related and len(self._gone) * self._new <= _MOST_PAIRS:
            rivals += self._gone
        return list({symbol.id: symbol for symbol in (*wanted, *rivals)}.values())

    def candidates(self, old: Symbol) -> Iterable[tuple[Symbol, float]]:
        """What `old` may be in the copy, with scores in 0..1."""
        own = (_sort(old), self._place(old))
        for new in self._there.get(own, ()):
            if score := self._of_same_place(old, new):
                yield new, score
        # What is where another stored symbol was, and called as that one, is that one.
        for new in self._fresh.sharing(_marks_of_symbol(old)):
            if score := self._of_other_place(old, new):
                yield new, score

    def _of_same_place(self, old: Symbol, new: Symbol) -> float:
        body = self._body(old, new)
        if body is None:
            body = 1.0 if old.signature == new.signature or not self._sketched else 0.5
        elif body < _ALIEN and not self._related:
            return 0.0
        return 0.6 + 0.4 * body

    def _of_other_place(self, old: Symbol, new: Symbol) -> float:
        if old.kind == "module":  # told by `_paths`
            return 0.0
        body = self._body(old, new)
        if body is not None and body < _BODY_OF_SAME_NAME:
            return 0.0
        names = _name_likeness(old, new)
        same_signature = old.signature == new.signature
        if body is None:
            # Nothing to tell by but the name: enough where the whole file is gone and nothing else is called so.
            alone = self._names[_sort(new), new.qualified_name] == 1
            moved = old.path not in self._paths
            return 0.5 if names == 1.0 and old.qualified_name and same_signature and alone and moved else 0.0
        if body < (_BODY_OF_SAME_NAME if names >= 0.7 else _BODY_OF_ANY_NAME):
            return 0.0
        same_file = self._paths.get(old.path) == new.path
        return 0.65 * body + 0.2 * names + 0.1 * same_file + 0.04 * same_signature

    def _body(self, old: Symbol, new: Symbol) -> float | None:
        """None where there is nothing to compare: both bodies are short, or none was sketched when they were stored."""
        if not self._sketched or not (old.fingerprint or new.fingerprint):
            return None
        return similarity(old.fingerprint, new.fingerprint) if old.fingerprint and new.fingerprint else 0.0

    def _place(self, symbol: Symbol) -> Place:
        return self._paths.get(symbol.path, symbol.path), symbol.qualified_name


def _sort(symbol: Symbol) -> str:
    """What may turn into one another: a function that moves into a class is a method."""
    return "function" if symbol.kind == "method" else symbol.kind


def _name_likeness(old: Symbol, new: Symbol) -> float:
    if old.qualified_name == new.qualified_name:
        return 1.0
    one, other = (symbol.qualified_name.rpartition(".")[2] for symbol in (old, new))
    return 0.7 if one == other else 0.5 * difflib.SequenceMatcher(None, one, other).ratio()


# --- what is compared ------------------------------------------------------------------------------------------------

T = TypeVar("T", str, Symbol)


class _Shared(Generic[T]):
    """Things by the marks that they bear; a mark that more than `most` bear finds none."""

    def __init__(self, things: Iterable[tuple[T, Iterable[Hashable]]], most: int) -> None:
        self._by_mark: dict[Hashable, list[T]] = {}
        for thing, marks in things:
            for mark in dict.fromkeys(marks):
                self._by_mark.setdefault(mark, []).append(thing)
        self._by_mark = {mark: found for mark, found in self._by_mark.items() if len(found) <= most}

    def sharing(self, marks: Iterable[Hashable]) -> Iterable[T]:
        """Each thing that bears one of these marks, once."""
        found: dict[str, T] = {}
        for mark in marks:
            for thing in self._by_mark.get(mark, ()):
                found[thing if isinstance(thing, str) else thing.id] = thing
        return found.values()


def _marks_of_symbol(symbol: Symbol) -> Iterator[Hashable]:
    sort = _sort(symbol)
    yield sort, symbol.qualified_name
    yield sort, "…", symbol.qualified_name.rpartition(".")[2]
    for band in _bands(symbol.fingerprint):
        yield sort, band


def _marks_of_file(path: str, file: "_File") -> Iterator[Hashable]:
    yield from file.names
    yield from _bands(file.fingerprint)
    parts = PurePosixPath(path).parts
    for start in range(max(0, len(parts) - _DEEPEST), len(parts)):
        yield parts[start:]


def _bands(fingerprint: str) -> Iterator[tuple[int, str]]:
    return ((at, fingerprint[at : at + _BAND]) for at in range(0, len(fingerprint) - _BAND + 1, _BAND))


# --- renamed files ----------------------------------------------------------------------------------------------------


def _paths(stored: Sequence[Symbol], there: Sequence[Symbol]) -> dict[str, str]:
    """Stored paths → where these files are in the copy; what is gone is left out."""
    old, new = _files(stored), _files(there)
    found = {path: path for path in old if path in new}
    added = _Shared(((path, _marks_of_file(path, file)) for path, file in new.items() if path not in old), _MOST_ALIKE)
    pairs = [
        (score, one, other)
        for one, file in old.items()
        if one not in new
        for other in added.sharing(_marks_of_file(one, file))
        if (score := _file_likeness(one, other, file, new[other])) >= _SAME_FILE
    ]
    taken: set[str] = set()
    for _, one, other in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if one not in found and other not in taken:
            found[one] = other
            taken.add(other)
    return found


@dataclass
class _File:
    names: frozenset[str]
    fingerprint: str


def _files(symbols: Sequence[Symbol]) -> dict[str, _File]:
    names: dict[str, set[str]] = {}
    sketches: dict[str, str] = {}
    for symbol in symbols:
        if symbol.kind == "module":
            sketches[symbol.path] = symbol.fingerprint
        else:
            names.setdefault(symbol.path, set()).add(symbol.qualified_name)
    return {path: _File(frozenset(names.get(path, ())), sketches.get(path, "")) for path in {**names, **sketches}}


def _file_likeness(one: str, other: str, old: _File, new: _File) -> float:
    names = len(old.names & new.names) / max(1, len(old.names | new.names))
    likeness = names
    if old.fingerprint and new.fingerprint:
        body = similarity(old.fingerprint, new.fingerprint)
        likeness = 0.0 if body < _ALIEN else max(body, (names + body) / 2)
    same_name = PurePosixPath(one).name == PurePosixPath(other).name
    shifted = other.endswith(f"/{one}") or one.endswith(f"/{other}")
    return likeness + 0.15 * same_name + 0.05 * shifted if likeness else 0.0
