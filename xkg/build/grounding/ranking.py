"""The ranking of a repository's symbols for a paper's techniques, by evidence and by relations between techniques."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from xkg.build.grounding.block_search import BlockSearch
from xkg.build.grounding.evidence import Evidence, evidence
from xkg.build.grounding.index.block_index import BlockIndex
from xkg.build.grounding.places import are_twins
from xkg.build.grounding.query import TechniqueQuery
from xkg.build.grounding.surroundings import Surroundings, corrected
from xkg.build.grounding.symbol_search import SymbolSearch
from xkg.embeddings.base import Embedder

_CANDIDATES = 50
_NEAR_BEST = 0.85

_NEIGHBOUR_SHARE = 0.15
_BLOCKS_OF = 8  # symbols, the best
_COMPOSER_SHARE = 0.25

# The least support of a located technique that counts as certain, its lead counted in. Of 931 techniques of 72
# repositories 71 % have it, the first place right for 63 % of these, one of five for 88 %; of 70 that their repository
# lacks 33 %; of 288 pairs of a technique and another paper's repository 2 %.
UNDOUBTED_SUPPORT = 1.7
# What the lead of the best score over the next adds to the support: a place with no rival is more often right.
_LEAD_SUPPORT = 3.0
# The least support of a doubtful one.
LEAST_SUPPORT = 0.7
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
        self.doubtful: set[str] = set()
        self._queries = {query.technique: query for query in queries}
        vectors = embedder.embed([query.text for query in queries])
        search = SymbolSearch(index.symbols, queries, vectors, embedder)
        fused = [search.fused(i, _CANDIDATES) for i in range(len(queries))]
        self.blocks = BlockSearch(index, queries, vectors, embedder, [found[:_BLOCKS_OF] for found in fused])
        self._evidence = {
            query.technique: self._evidence_of(query, search, i, fused[i]) for i, query in enumerate(queries)
        }
        self._children: dict[str, list[str]] = {}
        for query in queries:
            if query.parent:
                self._children.setdefault(query.parent, []).append(query.technique)
        self._number = {query.technique: i for i, query in enumerate(queries)}
        self._surroundings = Surroundings(self._entries)

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
            ranked[technique] = self._well_founded(technique, scores, self._least_support - shared)
            if ranked[technique] and not self._well_founded(
                technique, scores, UNDOUBTED_SUPPORT - shared - _LEAD_SUPPORT * self._lead(scores)
            ):
                self.doubtful.add(technique)
        return ranked

    def _evidence_of(
        self, query: TechniqueQuery, search: SymbolSearch, i: int, fused: Sequence[str]
    ) -> dict[str, Evidence]:
        best_blocks = self.blocks.best_of_symbols(i)
        candidates = dict.fromkeys((*islice(search.lexical[i], _CANDIDATES), *fused, *islice(best_blocks, _CANDIDATES)))
        found = {}
        for symbol in candidates:
            entry = self._entries[symbol]
            lines = max((best_blocks.get(part, 0.0) for part in (symbol, *entry.members)), default=0.0)
            found[symbol] = evidence(query, entry, search, i, lines)
        return found

    def features(self, technique: str) -> dict[str, dict[str, float]]:
        """Candidate → its score by evidence (`score`) and the features of its surroundings."""
        scores, evidence = self._by_evidence(technique), self._evidence[technique]
        i, around = self._number[technique], self._surroundings
        return {
            symbol: {"score": score, **around.features(symbol, scores, evidence, self.blocks, i)}
            for symbol, score in scores.items()
        }

    def _by_evidence(self, technique: str) -> dict[str, float]:
        """Candidates by evidence and by their neighbours in the call graph: callers and callees of a strong candidate
        gain."""
        own = {symbol: e.score for symbol, e in self._evidence[technique].items()}
        scores = {}
        for symbol, score in own.items():
            near = [own[n] for n in self._surroundings.neighbours(symbol, own)]
            scores[symbol] = (score + _NEIGHBOUR_SHARE * max(near, default=0.0)) / (1 + _NEIGHBOUR_SHARE)
        return scores

    def _scored(self, technique: str) -> dict[str, float]:
        """Candidates by evidence and surroundings."""
        return _best_first({symbol: corrected(found) for symbol, found in self.features(technique).items()})

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

    def _lead(self, scores: Mapping[str, float]) -> float:
        """By how much the best of some scores exceeds the next that is other code; what is alone leads nothing."""
        best, *others = scores
        rivals = (s for s in others if not are_twins(self._entries[best], self._entries[s]))
        return next((scores[best] - scores[rival] for rival in rivals), 0.0)

    def _well_founded(self, technique: str, scores: Mapping[str, float], least: float) -> list[tuple[str, float]]:
        """The candidates that score near the best, supported or not, since readers see the scores; none where none of
        those nearest the best is well supported."""
        evidence = self._evidence[technique]
        best = next(iter(scores.values()), 0.0)
        if not any(evidence[s].support >= least for s, value in scores.items() if value >= _NEAR_BEST * best):
            return []
        return [(s, value) for s, value in scores.items() if value >= self._least_share * best][: self._limit]


def _best_first(scores: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
