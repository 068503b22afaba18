"""Turns a technique's ranked symbols into places. Replaces large classes and modules with their best symbols, and
merges copies of the same code."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xkg.build.code.fingerprint import similarity
from xkg.build.grounding.block_search import BlockSearch
from xkg.build.grounding.index.symbol_index import Entry
from xkg.build.grounding.index.symbol_roles import SUPPORTING
from xkg.build.grounding.ranking import Candidate

_LARGE_CLASS = 150  # a class with more lines is large
# Fewer than 1% of pairs of unrelated functions in a repository have a similarity above 0.4.
_TWINS = 0.8


@dataclass(frozen=True)
class RankedPlace:
    """A candidate and its `twins`, which are lower-ranked symbols with nearly the same code."""

    candidate: Candidate
    twins: tuple[str, ...] = ()


def places(ranked: Sequence[Candidate], search: BlockSearch, i: int, limit: int) -> list[RankedPlace]:
    """Returns at most `limit` places for technique i of `search`, best first. `ranked` contains the technique's
    candidates, best first."""
    entries = search.index.symbols.entries
    found: list[RankedPlace] = []
    best_blocks: set[str] = set()
    for candidate in _narrowed(ranked, search, i):
        # A class and its method form a single place if they have the same best block.
        inside = search.of_symbol(i, candidate.symbol)
        if inside and inside[0][0].id in best_blocks:
            continue
        best_blocks.update(block.id for block, _ in inside[:1])
        for at, place in enumerate(found):
            if are_twins(entries[place.candidate.symbol], entries[candidate.symbol]):
                found[at] = RankedPlace(place.candidate, (*place.twins, candidate.symbol))
                break
        else:
            found.append(RankedPlace(candidate))
    return found[:limit]


def _narrowed(ranked: Sequence[Candidate], search: BlockSearch, i: int) -> list[Candidate]:
    """Removes duplicate candidates. Replaces each large class or module with the symbol that contains its best
    block."""
    entries = search.index.symbols.entries
    narrowed: dict[str, Candidate] = {}
    for candidate in ranked:
        inside = search.of_symbol(i, candidate.symbol) if _is_container(entries[candidate.symbol]) else []
        best = max(inside, key=lambda pair: pair[1] * _weight(entries[pair[0].symbol]), default=None)
        if best is not None and best[1]:
            candidate = replace(candidate, symbol=best[0].symbol)
        narrowed.setdefault(candidate.symbol, candidate)
    return list(narrowed.values())


def _weight(entry: Entry) -> float:
    return SUPPORTING if entry.supports else 1.0


def _is_container(entry: Entry) -> bool:
    module = entry.kind == "module" and not entry.is_script
    return bool(entry.members) and (module or (entry.kind == "class" and entry.lines > _LARGE_CLASS))


def are_twins(one: Entry, other: Entry) -> bool:
    """Returns whether two symbols have nearly the same code."""
    first, second = one.source.symbol, other.source.symbol
    if first.kind != second.kind or one.id == other.id:
        return False
    if first.fingerprint and second.fingerprint:
        return similarity(first.fingerprint, second.fingerprint) >= _TWINS
    return one.text.split() == other.text.split()
