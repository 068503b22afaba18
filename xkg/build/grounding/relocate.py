"""Matches the symbols in a stored repository to the symbols in a later copy.

Most symbols are identified by name and path, and renamed or moved ones by the fingerprint of their body. A symbol
without a good match is reported as missing, because wrong lines are worse than no lines.

Compares files and symbols only if they share a name, a path suffix or a fingerprint band. With 3,000 files, each file
is compared about fifteen times. A band consists of three fingerprint digits at a fixed position. If two fingerprints
agree in half of their digits, they share no band with probability 1/16."""

import difflib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Generic, TypeVar

from xkg.build.code.codebase import Codebase
from xkg.build.code.fingerprint import similarity
from xkg.model import LineRange, Symbol

# Fewer than 1% of pairs of unrelated functions in a repository have a similarity above 0.4.
_BODY_OF_SAME_NAME = 0.4
_BODY_OF_ANY_NAME = 0.7
_ALIEN = 0.2
_SAME_FILE = 0.5
# A copy that shares a smaller fraction of symbols is a different repository. Even unrelated repositories may both have
# a `main` in `train.py`, for example.
_RELATED = 0.2
_MOST_PAIRS = 200_000
_BAND = 3  # digits
_DEEPEST = 16  # path components
# A key shared by more files or symbols is not distinctive.
_MOST_ALIKE = 20
_MOST_NAMESAKES = 1000

Place = tuple[str, str]


@dataclass(frozen=True)
class Match:
    """A matching symbol in the copy. `likeness` is 1 if the name, place and body are unchanged, and lower otherwise."""

    symbol: Symbol
    likeness: float


def relocate(requested: Sequence[Symbol], stored: Sequence[Symbol], copy: Codebase) -> dict[str, Match]:
    """Maps the ids of the `requested` symbols to their matches in `copy`. Omits missing symbols. `stored` contains all
    symbols in the repository that the requested symbols come from. Each symbol in the copy matches at most one stored
    symbol."""
    current = [source.symbol for source in copy.symbols().values()]
    paths = _paths(stored, current)
    matcher = _Matcher(stored, current, paths)
    pairs = [(score, old, new) for old in matcher.with_rivals(requested) for new, score in matcher.candidates(old)]
    matches: dict[str, Match] = {}
    used: set[str] = set()
    # Of several symbols with the same name and score, the one on the nearest line wins.
    for score, old, new in sorted(pairs, key=lambda p: (-p[0], abs(p[1].start_line - p[2].start_line), p[1].id)):
        if old.id not in matches and new.id not in used:
            matches[old.id] = Match(new, round(score, 4))
            used.add(new.id)
    return {symbol.id: matches[symbol.id] for symbol in requested if symbol.id in matches}


def moved_focus(focus: Sequence[LineRange], old: Symbol, new: Symbol) -> tuple[LineRange, ...]:
    """Shifts line ranges in `old` to `new`. Returns no ranges if the symbol's length changed, because it is then
    unclear which lines changed."""
    if new.end_line - new.start_line != old.end_line - old.start_line:
        return ()
    by = new.start_line - old.start_line
    return tuple(LineRange(start_line=at.start_line + by, end_line=at.end_line + by, why=at.why) for at in focus)


class _Matcher:
    def __init__(self, stored: Sequence[Symbol], current: Sequence[Symbol], paths: Mapping[str, str]) -> None:
        self._paths = paths
        self._sketched = any(symbol.fingerprint for symbol in stored)
        self._stored: dict[tuple[str, Place], list[Symbol]] = {}
        for symbol in stored:
            self._stored.setdefault((_category(symbol), self._place(symbol)), []).append(symbol)
        self._current: dict[tuple[str, Place], list[Symbol]] = {}
        for symbol in current:
            self._current.setdefault((_category(symbol), (symbol.path, symbol.qualified_name)), []).append(symbol)
        self._names = Counter((_category(symbol), symbol.qualified_name) for symbol in current)
        self._missing = [s for key, symbols in self._stored.items() if key not in self._current for s in symbols]
        added = [s for s in current if (_category(s), (s.path, s.qualified_name)) not in self._stored]
        self._added_count = len(added)
        self._added = _KeyIndex(((symbol, _symbol_keys(symbol)) for symbol in added), _MOST_NAMESAKES)
        self._related = len(self._missing) <= (1 - _RELATED) * len(stored)

    def with_rivals(self, requested: Iterable[Symbol]) -> list[Symbol]:
        """Returns the requested symbols and the stored symbols that compete with them for matches. A stored symbol
        competes if it has the same name and place as a requested one, or if it is missing from its place in the
        copy."""
        rivals = [other for symbol in requested for other in self._stored[_category(symbol), self._place(symbol)]]
        if self._related and len(self._missing) * self._added_count <= _MOST_PAIRS:
            rivals += self._missing
        return list({symbol.id: symbol for symbol in (*requested, *rivals)}.values())

    def candidates(self, old: Symbol) -> Iterable[tuple[Symbol, float]]:
        """Yields possible matches for `old` in the copy, with scores from 0 to 1."""
        own = (_category(old), self._place(old))
        for new in self._current.get(own, ()):
            if score := self._score_in_place(old, new):
                yield new, score
        # Only added symbols are considered. Any other symbol matches the stored symbol with the same name and place.
        for new in self._added.sharing(_symbol_keys(old)):
            if score := self._score_moved(old, new):
                yield new, score

    def _score_in_place(self, old: Symbol, new: Symbol) -> float:
        body = self._body(old, new)
        if body is None:
            body = 1.0 if old.signature == new.signature or not self._sketched else 0.5
        elif body < _ALIEN and not self._related:
            return 0.0
        return 0.6 + 0.4 * body

    def _score_moved(self, old: Symbol, new: Symbol) -> float:
        if old.kind == "module":  # `_paths` matches modules
            return 0.0
        body = self._body(old, new)
        if body is not None and body < _BODY_OF_SAME_NAME:
            return 0.0
        names = _name_likeness(old, new)
        same_signature = old.signature == new.signature
        if body is None:
            # Only the name can be compared. The symbol matches if the name is unique and the old file is missing.
            alone = self._names[_category(new), new.qualified_name] == 1
            moved = old.path not in self._paths
            return 0.5 if names == 1.0 and old.qualified_name and same_signature and alone and moved else 0.0
        if body < (_BODY_OF_SAME_NAME if names >= 0.7 else _BODY_OF_ANY_NAME):
            return 0.0
        same_file = self._paths.get(old.path) == new.path
        return 0.65 * body + 0.2 * names + 0.1 * same_file + 0.04 * same_signature

    def _body(self, old: Symbol, new: Symbol) -> float | None:
        """Returns the similarity of the bodies, or None if they are too short or were stored without fingerprints."""
        if not self._sketched or not (old.fingerprint or new.fingerprint):
            return None
        return similarity(old.fingerprint, new.fingerprint) if old.fingerprint and new.fingerprint else 0.0

    def _place(self, symbol: Symbol) -> Place:
        return self._paths.get(symbol.path, symbol.path), symbol.qualified_name


def _category(symbol: Symbol) -> str:
    """Returns the symbol's kind. Methods count as functions, because a function moved into a class becomes a method."""
    return "function" if symbol.kind == "method" else symbol.kind


def _name_likeness(old: Symbol, new: Symbol) -> float:
    if old.qualified_name == new.qualified_name:
        return 1.0
    old_name, new_name = (symbol.qualified_name.rpartition(".")[2] for symbol in (old, new))
    return 0.7 if old_name == new_name else 0.5 * difflib.SequenceMatcher(None, old_name, new_name).ratio()


# --- candidates for comparison ----------------------------------------------------------------------------------------

T = TypeVar("T", str, Symbol)


class _KeyIndex(Generic[T]):
    """Groups items by key, omitting keys with more than `most` items."""

    def __init__(self, things: Iterable[tuple[T, Iterable[Hashable]]], most: int) -> None:
        self._by_key: dict[Hashable, list[T]] = {}
        for thing, keys in things:
            for key in dict.fromkeys(keys):
                self._by_key.setdefault(key, []).append(thing)
        self._by_key = {key: group for key, group in self._by_key.items() if len(group) <= most}

    def sharing(self, keys: Iterable[Hashable]) -> Iterable[T]:
        """Yields the items that have any of these keys, without duplicates."""
        by_id: dict[str, T] = {}
        for key in keys:
            for thing in self._by_key.get(key, ()):
                by_id[thing if isinstance(thing, str) else thing.id] = thing
        return by_id.values()


def _symbol_keys(symbol: Symbol) -> Iterator[Hashable]:
    category = _category(symbol)
    yield category, symbol.qualified_name
    yield category, "…", symbol.qualified_name.rpartition(".")[2]
    for band in _bands(symbol.fingerprint):
        yield category, band


def _file_keys(path: str, file: "_File") -> Iterator[Hashable]:
    yield from file.names
    yield from _bands(file.fingerprint)
    parts = PurePosixPath(path).parts
    for start in range(max(0, len(parts) - _DEEPEST), len(parts)):
        yield parts[start:]


def _bands(fingerprint: str) -> Iterator[tuple[int, str]]:
    return ((at, fingerprint[at : at + _BAND]) for at in range(0, len(fingerprint) - _BAND + 1, _BAND))


# --- renamed files ----------------------------------------------------------------------------------------------------


def _paths(stored: Sequence[Symbol], current: Sequence[Symbol]) -> dict[str, str]:
    """Maps stored paths to paths in the copy. Omits missing files."""
    old, new = _files(stored), _files(current)
    renamed = {path: path for path in old if path in new}
    added = _KeyIndex(((path, _file_keys(path, file)) for path, file in new.items() if path not in old), _MOST_ALIKE)
    pairs = [
        (score, old_path, new_path)
        for old_path, file in old.items()
        if old_path not in new
        for new_path in added.sharing(_file_keys(old_path, file))
        if (score := _file_likeness(old_path, new_path, file, new[new_path])) >= _SAME_FILE
    ]
    used: set[str] = set()
    for _, old_path, new_path in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if old_path not in renamed and new_path not in used:
            renamed[old_path] = new_path
            used.add(new_path)
    return renamed


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


def _file_likeness(old_path: str, new_path: str, old: _File, new: _File) -> float:
    names = len(old.names & new.names) / max(1, len(old.names | new.names))
    likeness = names
    if old.fingerprint and new.fingerprint:
        body = similarity(old.fingerprint, new.fingerprint)
        likeness = 0.0 if body < _ALIEN else max(body, (names + body) / 2)
    same_name = PurePosixPath(old_path).name == PurePosixPath(new_path).name
    shifted = new_path.endswith(f"/{old_path}") or old_path.endswith(f"/{new_path}")
    return likeness + 0.15 * same_name + 0.05 * shifted if likeness else 0.0
