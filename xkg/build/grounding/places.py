"""The places of a technique from its ranked symbols: large classes and modules give way to their methods, and copies
of one piece of code are one place."""

from collections.abc import Sequence
from dataclasses import dataclass

from xkg.build.code.fingerprint import similarity
from xkg.build.grounding.block_search import BlockSearch
from xkg.build.grounding.index.symbol_index import Entry
from xkg.build.grounding.index.symbol_roles import SUPPORTING

_LARGE_CLASS = 150  # lines
# Of unrelated functions of one repository, fewer than one pair in a hundred is more alike than 0.4.
_TWINS = 0.8


@dataclass(frozen=True)
class RankedPlace:
    """A symbol with its score; `twins` are lower-ranked symbols that are nearly the same code."""

    symbol: str
    score: float
    twins: tuple[str, ...] = ()


def places(ranked: Sequence[tuple[str, float]], search: BlockSearch, i: int, limit: int) -> list[RankedPlace]:
    """At most `limit` places of technique i of `search`, best first, from its symbols with scores, best first."""
    entries = search.index.symbols.entries
    found: list[RankedPlace] = []
    best_blocks: set[str] = set()
    for symbol, score in _narrowed(ranked, search, i):
        # A class and its method that owe their rank to the same lines are one place.
        inside = search.of_symbol(i, symbol)
        if inside and inside[0][0].id in best_blocks:
            continue
        best_blocks.update(block.id for block, _ in inside[:1])
        for at, place in enumerate(found):
            if are_twins(entries[place.symbol], entries[symbol]):
                found[at] = RankedPlace(place.symbol, place.score, (*place.twins, symbol))
                break
        else:
            found.append(RankedPlace(symbol, score))
    return found[:limit]


def _narrowed(ranked: Sequence[tuple[str, float]], search: BlockSearch, i: int) -> list[tuple[str, float]]:
    """The symbols, each once, with the method that holds the best block in place of a large class or a module."""
    entries = search.index.symbols.entries
    narrowed: dict[str, float] = {}
    for symbol, score in ranked:
        inside = search.of_symbol(i, symbol) if _is_container(entries[symbol]) else []
        best = max(inside, key=lambda pair: pair[1] * _weight(entries[pair[0].symbol]), default=None)
        narrowed.setdefault(best[0].symbol if best is not None and best[1] else symbol, score)
    return list(narrowed.items())


def _weight(entry: Entry) -> float:
    return SUPPORTING if entry.supports else 1.0


def _is_container(entry: Entry) -> bool:
    return bool(entry.members) and (entry.kind == "module" or (entry.kind == "class" and entry.lines > _LARGE_CLASS))


def are_twins(one: Entry, other: Entry) -> bool:
    """Whether two symbols are nearly the same code."""
    first, second = one.source.symbol, other.source.symbol
    if first.kind != second.kind or one.id == other.id:
        return False
    if first.fingerprint and second.fingerprint:
        return similarity(first.fingerprint, second.fingerprint) >= _TWINS
    return one.text.split() == other.text.split()
