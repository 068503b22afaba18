"""Locates techniques in a repository: techniques → ranked symbols, or none.

Hybrid search proposes candidates; evidence of several kinds and the call graph rank them. A technique supported by only
one kind of evidence is not located, since plausible but irrelevant code is worse than none. No language model is used.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from xkg.build.code.codebase import Codebase
from xkg.build.grounding.identifier_words import stems
from xkg.build.grounding.numbered import numbers_of
from xkg.build.grounding.query import TechniqueQuery, technique_queries
from xkg.build.grounding.symbol_index import Entry, SymbolIndex
from xkg.build.grounding.symbol_roles import is_thin, role_factor
from xkg.build.grounding.symbol_search import SymbolSearch
from xkg.build.paper.document import Document
from xkg.embeddings.base import Embedder
from xkg.model import Location, Technique
from xkg.value import Value

_CANDIDATES = 50
# The weight of an equation's number among the words of a definition.
_NUMBER_WEIGHT = 2.0
_LIMIT = 5
_LEAST_SHARE = 0.4
_NEAR_BEST = 0.85

# The weight of a name's word by the field it occurs in.
_NAME_FIELDS: Mapping[str, float] = {"name": 1.0, "owner": 0.75, "prose": 0.6, "body": 0.45, "signature": 0.4}
# The weight of a word that the repository lacks, below that of the rarest present one: papers and code often differ in
# one word of a name.
_UNSEEN = 0.8
# A name whose words together are less rare than this (by `rarity`) is too general: "batch step".
_SPECIFIC = 0.6

# Words of a name that only give the kind of symbol.
_SHAPES = frozenset(stems("function fn func class module layer net network base impl util wrapper get compute"))

_NEIGHBOUR_SHARE = 0.15
_COMPOSER_SHARE = 0.25
_RIVAL_SHARE = 0.92

# The least support of a located technique. On four papers and their repositories the correct place ranked first for
# 82 % of the techniques present; with this threshold 80 % pass, and 10 % of the techniques of an unrelated paper. A
# higher one loses more of the first (1.4: 64 %) than of the second (6 %); a lower one only adds of the second (1.0:
# 24 %).
LEAST_SUPPORT = 1.25
_EXACT = 0.1
# No kind of evidence counts for more than this: none is enough alone.
_KIND_LIMIT = 0.75
# A repository where the paper's other techniques are well supported is more likely to contain this one.
_OTHERS_SHARE = 0.4
_OTHERS_PRIOR = (0.7, 0.7)


class Grounding(Value):
    """`locations` in the order of the techniques, best first; a technique that fits nowhere has none. `primaries` maps
    each located technique to the symbol that its code is sliced from. `doubtful` are techniques located only because
    less support than `LEAST_SUPPORT` was required, or that the model located with low confidence."""

    locations: tuple[Location, ...] = ()
    primaries: Mapping[str, str] = {}
    doubtful: tuple[str, ...] = ()

    def of(self, technique: str) -> tuple[Location, ...]:
        """The locations of one technique, best first."""
        return tuple(location for location in self.locations if location.technique == technique)


@dataclass(frozen=True)
class Evidence:
    """Evidence for a symbol, each kind in 0..1. `name`: the technique's name or acronym in names and prose; `text`: the
    words of its definition, relative to all of them; `share`: the same relative to the best symbol; `meaning` and
    `fair`: the embedding similarity, plain and less the similarity to every technique. `role` lowers tests and the
    like. `exact`: the symbol's name is the technique's, word for word."""

    name: float
    text: float
    share: float
    meaning: float
    fair: float
    role: float
    exact: bool = False

    @property
    def score(self) -> float:
        """For ranking the symbols of one technique, 0..1.1."""
        kinds = 0.2 * self.name + 0.3 * self.text + 0.2 * self.share + 0.3 * self.fair
        return (kinds + _EXACT * self.exact) * self.role

    @property
    def support(self) -> float:
        """The support of the symbol, independent of the other symbols of the repository: 0 to 2.25."""
        return sum(min(kind, _KIND_LIMIT) for kind in (self.name, self.text, self.meaning)) * self.role


def ground(
    techniques: Sequence[Technique],
    codebase: Codebase,
    embedder: Embedder,
    document: Document | None = None,
    *,
    least_support: float = LEAST_SUPPORT,
    index: SymbolIndex | None = None,
) -> Grounding:
    """Locates each technique in a repository: at most five symbols, scores in 0..1, ranks from 1; none where nothing
    is well supported. The paper's `document` adds its own abbreviations, and the names in the equations and algorithms
    beside a technique's excerpts. With `least_support` 0 whatever ranks best is located. `index` is the codebase's, if
    already built. Deterministic for one embedding model. Raises `EmbeddingError`.
    """
    if not techniques or not codebase.modules:
        return Grounding()
    index = index or SymbolIndex(codebase)
    queries = _with_numbers(technique_queries(techniques, document), techniques, document, index)
    search = SymbolSearch(index, queries, embedder)
    grounder = _Grounder(index, queries, search, least_support)
    ranked = grounder.rank()
    locations: list[Location] = []
    primaries: dict[str, str] = {}
    for technique in techniques:
        symbols = ranked[technique.id]
        locations.extend(
            Location(technique=technique.id, symbol=symbol, score=round(min(1.0, score), 4), rank=rank)
            for rank, (symbol, score) in enumerate(symbols, start=1)
        )
        if symbols:
            primaries[technique.id] = primary([symbol for symbol, _ in symbols], index)
    return Grounding(locations=tuple(locations), primaries=primaries, doubtful=tuple(sorted(grounder.doubtful)))


def candidates(
    techniques: Sequence[Technique],
    codebase: Codebase,
    embedder: Embedder,
    document: Document | None = None,
    *,
    limit: int,
    index: SymbolIndex | None = None,
) -> dict[str, tuple[str, ...]]:
    """The `limit` best symbols for each technique in the ranking of `ground`, without a threshold: for a reader who
    decides. Raises `EmbeddingError`."""
    if not techniques or not codebase.modules:
        return {technique.id: () for technique in techniques}
    index = index or SymbolIndex(codebase)
    queries = _with_numbers(technique_queries(techniques, document), techniques, document, index)
    grounder = _Grounder(index, queries, SymbolSearch(index, queries, embedder), 0.0, limit=limit, least_share=0.0)
    ranked = grounder.rank()
    return {technique.id: tuple(symbol for symbol, _ in ranked[technique.id]) for technique in techniques}


def _with_numbers(
    queries: Sequence[TechniqueQuery], techniques: Sequence[Technique], document: Document | None, index: SymbolIndex
) -> tuple[TechniqueQuery, ...]:
    """The queries with the numbers of the paper's equations and algorithms that comments of the repository refer to."""
    if document is None:
        return tuple(queries)
    by_id = {technique.id: technique for technique in techniques}
    numbers = {
        q.technique: sorted(n for n in numbers_of(by_id[q.technique], document) if index.knows(n)) for q in queries
    }
    return tuple(
        replace(q, definition={**q.definition, **dict.fromkeys(numbers[q.technique], _NUMBER_WEIGHT)}) for q in queries
    )


def primary(symbols: Sequence[str], index: SymbolIndex) -> str:
    """The symbol to slice a technique's code from, given its symbols, best first: the first one, unless it is a module
    and something inside it is located too, or a special method, which stands for its class."""
    best = index.entries[symbols[0]]
    if best.kind == "module":
        inside = (symbol for symbol in symbols if symbol != best.id and symbol.startswith(f"{best.id}::"))
        return next(inside, best.id)
    if best.short_name.startswith("__") and best.source.parent in index.entries:
        return str(best.source.parent)
    return best.id


class _Grounder:
    """Ranks the symbols of one repository for one paper: evidence first, then relations between techniques."""

    def __init__(
        self,
        index: SymbolIndex,
        queries: Sequence[TechniqueQuery],
        search: SymbolSearch,
        least_support: float,
        *,
        limit: int = _LIMIT,
        least_share: float = _LEAST_SHARE,
    ) -> None:
        self._index = index
        self._limit = limit
        self._least_share = least_share
        self._least_support = least_support
        self._least: dict[str, float] = {}
        self.doubtful: set[str] = set()
        self._queries = {query.technique: query for query in queries}
        self._evidence = {
            query.technique: {
                symbol: evidence(query, index.entries[symbol], search, i) for symbol in search.fused(i, _CANDIDATES)
            }
            for i, query in enumerate(queries)
        }
        self._children: dict[str, list[str]] = {}
        for query in queries:
            if query.parent:
                self._children.setdefault(query.parent, []).append(query.technique)
        self._callers: dict[str, list[str]] = {}
        for entry in index.entries.values():
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
            if ranked[technique] and not self._well_founded(technique, scores, LEAST_SUPPORT - shared):
                self.doubtful.add(technique)
        for siblings in [[t for t, q in self._queries.items() if q.parent is None], *self._children.values()]:
            self._part_siblings([t for t in siblings if t not in self._children and ranked[t]], ranked)
        return ranked

    def _scored(self, technique: str) -> dict[str, float]:
        """Candidates by evidence and by their neighbours in the call graph: callers and callees of a strong candidate
        gain, and a trivial wrapper scores below the function it wraps."""
        evidence = self._evidence[technique]
        own = {symbol: e.score for symbol, e in evidence.items()}
        scores = {}
        for symbol, score in own.items():
            entry = self._index.entries[symbol]
            near = [own[n] for n in (*entry.source.calls, *self._callers.get(symbol, ())) if n in own and n != symbol]
            scores[symbol] = score + _NEIGHBOUR_SHARE * max(near, default=0.0) * evidence[symbol].role
            wrapped = [own[n] for n in entry.source.calls if n in own and n != symbol]
            if is_thin(entry) and wrapped and max(wrapped) >= 0.6 * score:
                scores[symbol] *= 0.8
        return _best_first(scores)

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
                entry = self._index.entries.get(at)
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


def evidence(query: TechniqueQuery, entry: Entry, search: SymbolSearch, i: int) -> Evidence:
    """The evidence for a symbol as the place of technique i of `search`."""
    lexical = search.lexical[i].get(entry.id, 0.0)
    best = next(iter(search.lexical[i].values()), 0.0)
    ceiling = search.index.ceiling(search.weights[i])
    return Evidence(
        name=_name_evidence(query, entry, search.index),
        text=min(1.0, 2.0 * lexical / ceiling) if ceiling else 0.0,
        share=lexical / best if best else 0.0,
        meaning=_cosine_evidence(search.similarity[i].get(entry.id, 0.0)),
        fair=_cosine_evidence(search.meaning[i].get(entry.id, 0.0)),
        role=role_factor(entry, query.about),
        exact=_has_exact_name(query, entry),
    )


def _has_exact_name(query: TechniqueQuery, entry: Entry) -> bool:
    own = entry.fields["name"]
    return own in query.forms or (len(own) == 1 and query.acronyms.get(own[0]) == 1.0)


def _cosine_evidence(cosine: float) -> float:
    # Between prose and code, MiniLM gives unrelated texts 0 to 0.15 and close ones seldom more than 0.6.
    return min(1.0, max(0.0, (cosine - 0.1) / 0.5))


def _name_evidence(query: TechniqueQuery, entry: Entry, index: SymbolIndex) -> float:
    """The share of a form of the name that occurs in the symbol, its words weighed by their rarity in the repository;
    lower where the symbol's own name has many other words."""
    fields = {name: frozenset(entry.fields[name]) for name in _NAME_FIELDS}
    best = max((_form_evidence(form, fields, index) for form in query.forms), default=0.0)
    for acronym, confidence in query.acronyms.items():
        best = max(best, confidence * _field_value(acronym, fields) * (0.75 + 0.25 * index.rarity(acronym)))
    if not best:
        return 0.0
    return best * (0.65 + 0.35 * _explained(query, entry, index))


def _form_evidence(form: Sequence[str], fields: Mapping[str, frozenset[str]], index: SymbolIndex) -> float:
    vocabulary = index.vocabulary
    values = [
        max(
            confidence * _field_value(variant, fields)
            for variant, confidence in {**vocabulary.related(word), word: 1.0}.items()
        )
        for word in form
    ]
    for compound, places in vocabulary.compounds(form).items():
        for i in places:
            values[i] = max(values[i], _field_value(compound, fields))
    # A repository named after a method need not repeat that name in its code.
    weights = [
        0.0 if word in index.titled and not value else min(_UNSEEN, index.rarity(word))
        for word, value in zip(form, values, strict=True)
    ]
    total = sum(weights)
    if not total:
        return 0.0
    return sum(w * v for w, v in zip(weights, values, strict=True)) / total * min(1.0, total / _SPECIFIC)


def _field_value(word: str, fields: Mapping[str, frozenset[str]]) -> float:
    return next((value for name, value in _NAME_FIELDS.items() if word in fields[name]), 0.0)


def _explained(query: TechniqueQuery, entry: Entry, index: SymbolIndex) -> float:
    """The share of a symbol's own name that the technique explains."""
    vocabulary = index.vocabulary
    name_words = {word for form in query.forms for word in form}
    name_words |= {related for word in name_words for related in vocabulary.related(word)}
    name_words |= {compound for form in query.forms for compound in vocabulary.compounds(form)} | set(query.acronyms)
    own = [word for word in entry.fields["name"] if word not in _SHAPES] or entry.fields["name"]
    total = sum(index.rarity(word) for word in own)
    if not total:
        return 0.0
    return sum(index.rarity(w) * (1 if w in name_words else 0.6 if w in query.definition else 0) for w in own) / total
