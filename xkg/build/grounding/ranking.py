"""The ranking of a repository's symbols for a paper's techniques, by evidence and by relations between techniques."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from xkg.build.grounding.block_search import BlockSearch
from xkg.build.grounding.evidence import evidence
from xkg.build.grounding.index.block_index import BlockIndex
from xkg.build.grounding.index.symbol_roles import is_thin
from xkg.build.grounding.query import TechniqueQuery
from xkg.build.grounding.symbol_search import SymbolSearch
from xkg.embeddings.base import Embedder

_CANDIDATES = 50
_NEAR_BEST = 0.85

_NEIGHBOUR_SHARE = 0.15
# The best block of a symbol counts beside the symbol as a whole: what a long function does in a few lines is found.
_BLOCK_SHARE = 0.4
_BLOCK_CANDIDATES = 20
_BLOCKS_OF = 8  # symbols, the best
_NAMED_BETTER = 1.1
_MUCH_WEAKER = 0.5
_COMPOSER_SHARE = 0.25
_RIVAL_SHARE = 0.92

# The least support of a located technique that counts as certain. Of 227 techniques of seventeen repositories 75 % have
# it, the first place right for 77 % of these; of techniques of other papers 9 % (1.25: 80 %, 77 % and 12 %; 1.45: 66 %,
# 80 % and 6 %).
UNDOUBTED_SUPPORT = 1.35
# The least support of a doubtful one.
LEAST_SUPPORT = 0.8
_FULL_SIZE = 100  # symbols
_SMALL_SHARE = 0.9
# A repository where the paper's other techniques are well supported is more likely to contain this one.
_OTHERS_SHARE = 0.4
_OTHERS_PRIOR = (0.7, 0.7)


class Ranking:
    """Ranks the symbols of one repository for one paper: evidence first, then relations between techniques."""

    def __init__(
        self,
        index: BlockIndex,
        queries: Sequence[TechniqueQuery],
        embedder: Embedder,
        least_support: float,
        *,
        limit: int,
        least_share: float,
    ) -> None:
        """`least_support` as for `ground`; at most `limit` symbols a technique, none of a lower share of the best score
        than `least_share`. Raises `EmbeddingError`."""
        self._entries = index.symbols.entries
        self._limit = limit
        self._least_share = least_share
        # A repository of a few functions has no room for much that is unrelated, and its words are all rare.
        size = min(1.0, len(index.symbols.entries) / _FULL_SIZE)
        self._least_support = least_support * (_SMALL_SHARE + (1 - _SMALL_SHARE) * size)
        self._least: dict[str, float] = {}
        self.doubtful: set[str] = set()
        self._queries = {query.technique: query for query in queries}
        self._number = {query.technique: i for i, query in enumerate(queries)}
        vectors = embedder.embed([query.text for query in queries])
        search = SymbolSearch(index.symbols, queries, vectors, embedder)
        fused = [search.fused(i, _CANDIDATES) for i in range(len(queries))]
        self.blocks = BlockSearch(index, queries, vectors, embedder, [found[:_BLOCKS_OF] for found in fused])
        self._evidence = {}
        for i, query in enumerate(queries):
            owners = (index.blocks[block].symbol for block in islice(self.blocks.scores[i], _BLOCK_CANDIDATES))
            self._evidence[query.technique] = {
                symbol: evidence(query, self._entries[symbol], search, i)
                for symbol in dict.fromkeys((*fused[i], *owners))
            }
        self._children: dict[str, list[str]] = {}
        for query in queries:
            if query.parent:
                self._children.setdefault(query.parent, []).append(query.technique)
        self._callers: dict[str, list[str]] = {}
        for entry in self._entries.values():
            for callee in entry.source.calls:
                self._callers.setdefault(callee, []).append(entry.id)

    def rank(self) -> dict[str, list[tuple[str, float]]]:
        """Technique → its symbols with scores, best first."""
        scored = {technique: self._scored(technique) for technique in self._queries}
        support = {technique: self._best_support(technique, scored[technique]) for technique in self._queries}
        ranked: dict[str, list[tuple[str, float]]] = {}
        for technique in self._children_first():
            scores = scored[technique]
            if children := self._children.get(technique):
                scores = self._composing(scores, [ranked[child][0][0] for child in children if ranked.get(child)])
            others = [value for other, value in support.items() if other != technique]
            shared = _OTHERS_SHARE * statistics.median([*others, *_OTHERS_PRIOR])
            self._least[technique] = self._least_support - shared
            ranked[technique] = self._well_founded(technique, scores, self._least[technique])
            if ranked[technique] and not self._well_founded(technique, scores, UNDOUBTED_SUPPORT - shared):
                self.doubtful.add(technique)
        for siblings in [[t for t, q in self._queries.items() if q.parent is None], *self._children.values()]:
            self._part_siblings([t for t in siblings if t not in self._children and ranked[t]], ranked)
        return ranked

    def _scored(self, technique: str) -> dict[str, float]:
        """Candidates by evidence and by their neighbours in the call graph: callers and callees of a strong candidate
        gain, and a trivial wrapper scores below the function it wraps."""
        evidence = self._evidence[technique]
        own = {symbol: e.score for symbol, e in evidence.items()}
        best_block = self.blocks.best_of_symbols(self._number[technique])
        scores = {}
        for symbol, score in own.items():
            entry = self._entries[symbol]
            near = [own[n] for n in (*entry.source.calls, *self._callers.get(symbol, ())) if n in own and n != symbol]
            scores[symbol] = score + _NEIGHBOUR_SHARE * max(near, default=0.0) * evidence[symbol].role
            wrapped = [own[n] for n in entry.source.calls if n in own and n != symbol]
            if is_thin(entry) and wrapped and max(wrapped) >= 0.6 * score:
                scores[symbol] *= 0.8
            inside = max((best_block.get(part, 0.0) for part in (symbol, *entry.members)), default=0.0)
            scores[symbol] = (scores[symbol] + _BLOCK_SHARE * inside * evidence[symbol].role) / (1 + _BLOCK_SHARE)
        return _best_first(self._defined_first(technique, scores))

    def _defined_first(self, technique: str, scores: Mapping[str, float]) -> dict[str, float]:
        """Who uses a thing repeats its words. A callee that the technique names better than its caller comes before
        it, unless it is much weaker."""
        named = {symbol: evidence.name for symbol, evidence in self._evidence[technique].items()}
        ranked = dict(scores)
        for user, score in scores.items():
            members = (self._entries[member] for member in self._entries[user].members if member in self._entries)
            used = {callee for entry in (self._entries[user], *members) for callee in entry.source.calls}
            for callee in used.difference((user, *self._entries[user].members)):
                better = named.get(callee, 0.0) >= _NAMED_BETTER * named[user] and named.get(callee, 0.0) > 0
                if better and _MUCH_WEAKER * score <= scores[callee] <= score:
                    ranked[callee] = max(ranked[callee], math.nextafter(score, math.inf))
        return ranked

    def _best_support(self, technique: str, scores: Mapping[str, float]) -> float:
        best = next(iter(scores), None)
        return self._evidence[technique][best].support if best else 0.0

    def _children_first(self) -> list[str]:
        order: list[str] = []
        seen: set[str] = set()
        for technique in self._queries:
            stack = [(technique, False)]
            while stack:
                current, done = stack.pop()
                if done:
                    order.append(current)
                elif current not in seen:
                    seen.add(current)
                    stack.append((current, True))
                    stack.extend((child, False) for child in self._children.get(current, ()))
        return order

    def _composing(self, scores: Mapping[str, float], parts: Sequence[str]) -> dict[str, float]:
        """A technique with several components is implemented where they meet: a candidate gains by the share of them
        that it contains, calls or is."""
        if len(set(parts)) < 2:
            return dict(scores)
        return _best_first(
            {
                symbol: score + _COMPOSER_SHARE * score * len(self._reach(symbol) & set(parts)) / len(set(parts))
                for symbol, score in scores.items()
            }
        )

    def _reach(self, symbol: str) -> set[str]:
        """A symbol, its members, and their callees, two calls deep."""
        reached = {symbol}
        frontier: Iterable[str] = [symbol]
        for _ in range(2):
            successors: list[str] = []
            for at in frontier:
                entry = self._entries.get(at)
                successors.extend((*entry.members, *entry.source.calls) if entry else ())
            frontier = [s for s in dict.fromkeys(successors) if s not in reached]
            reached.update(frontier)
        return reached

    def _well_founded(self, technique: str, scores: Mapping[str, float], least: float) -> list[tuple[str, float]]:
        """The best well-supported candidate, if it is the best or nearly so, followed by those that score near it,
        supported or not: readers see the scores."""
        evidence = self._evidence[technique]
        founded = [(symbol, score) for symbol, score in scores.items() if evidence[symbol].support >= least]
        best = next(iter(scores.values()), 0.0)
        if not founded or founded[0][1] < _NEAR_BEST * best:
            return []
        first = founded[0]
        others = [(s, v) for s, v in scores.items() if s != first[0] and v >= self._least_share * first[1]]
        return [first, *((s, min(v, first[1])) for s, v in others)][: self._limit]

    def _part_siblings(self, siblings: Sequence[str], ranked: dict[str, list[tuple[str, float]]]) -> None:
        """Gives two leaves of one parent different symbols where the weaker has another well-supported one that scores
        nearly as high."""
        assigned: set[str] = set()
        for technique in sorted(siblings, key=lambda t: -ranked[t][0][1]):
            symbols = ranked[technique]
            if symbols[0][0] in assigned:
                evidence, least = self._evidence[technique], self._least[technique]
                free = [
                    (s, v)
                    for s, v in symbols
                    if s not in assigned and v >= _RIVAL_SHARE * symbols[0][1] and evidence[s].support >= least
                ]
                if free:
                    symbols = [free[0], *(pair for pair in symbols if pair != free[0])]
                    # Scores stay in order of rank.
                    values = sorted((v for _, v in symbols), reverse=True)
                    ranked[technique] = [(s, v) for (s, _), v in zip(symbols, values, strict=True)]
            assigned.add(ranked[technique][0][0])


def _best_first(scores: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
