"""Where a repository does what a paper describes: techniques → ranked symbols, or none.

Hybrid search proposes candidates; evidence of several kinds and the call graph rank them; what only one kind supports
is not located at all, since plausible but irrelevant code is worse than none. No language model is needed.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xkg.build.code.codebase import Codebase
from xkg.build.grounding.identifier_words import stems
from xkg.build.grounding.query import TechniqueQuery, technique_queries
from xkg.build.grounding.symbol_index import Entry, SymbolIndex
from xkg.build.grounding.symbol_roles import is_thin, role_factor
from xkg.build.grounding.symbol_search import SymbolSearch
from xkg.build.paper.document import Document
from xkg.embeddings.base import Embedder
from xkg.model import Location, Technique
from xkg.value import Value

_CANDIDATES = 50
_KEPT = 5
_KEPT_SHARE = 0.4
_NEAR_BEST = 0.85

# How much a word of the name says by where it is found.
_NAME_FIELDS: Mapping[str, float] = {"name": 1.0, "owner": 0.75, "prose": 0.6, "body": 0.45, "signature": 0.4}
# An unseen word of a name weighs less than the rarest seen one: papers and code often differ in one word of a name.
_UNSEEN = 0.8
# A name whose words together are no rarer than this (as `rarity` counts) could be about anything: "batch step".
_SPECIFIC = 0.6

# What names add to say which kind of thing they name.
_SHAPES = frozenset(stems("function fn func class module layer net network base impl util wrapper get compute"))

_NEIGHBOUR_SHARE = 0.15
_COMPOSER_SHARE = 0.25
_RIVAL_SHARE = 0.92

# The least support of a located technique. On four papers and their repositories the right place led for 82 % of the
# techniques that are there; here 80 % still pass, and of the techniques of a foreign paper one in ten. Further up the
# first falls (1.4: 64 %) faster than the second (6 %); further down only the second moves (1.0: 24 %).
LEAST_SUPPORT = 1.25
_EXACT = 0.1
# No kind of evidence counts for more than this: none is enough alone.
_KIND_LIMIT = 0.75
# A repository where the paper's other techniques are well founded is more likely to hold this one, too.
_OTHERS_SHARE = 0.4
_OTHERS_PRIOR = (0.7, 0.7)


class Grounding(Value):
    """`locations` by technique in the order given, best first; a technique that fits nowhere has none. `primaries`
    names, for each located technique, the symbol that its code is made from. `doubtful` are techniques that are located
    only because less support than `LEAST_SUPPORT` was asked for, or of which the model that located them was unsure."""

    locations: tuple[Location, ...] = ()
    primaries: Mapping[str, str] = {}
    doubtful: tuple[str, ...] = ()

    def of(self, technique: str) -> tuple[Location, ...]:
        """The locations of one technique, best first."""
        return tuple(location for location in self.locations if location.technique == technique)


@dataclass(frozen=True)
class Evidence:
    """What speaks for a symbol, each in 0..1. `name`: the technique's name or acronym in names and prose; `text`: the
    words of its definition, against all of them; `share`: the same against the best symbol; `meaning` and `fair`: the
    embeddings, plain and less what the symbol shares with every technique. `role` holds back tests and the like.
    `exact`: the symbol is called what the technique is called, no word more or less."""

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
        """How well founded the symbol is, whatever the rest of the repository offers: 0 to 2.25."""
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
    is well founded. The paper's `document`, where given, adds its own abbreviations, and the names in the equations
    and algorithms beside a technique's excerpts. With `least_support` 0 whatever ranks best is located. `index` is that
    of the codebase, where it was made before. Deterministic for one embedding model. Raises `EmbeddingError`.
    """
    if not techniques or not codebase.modules:
        return Grounding()
    index = index or SymbolIndex(codebase)
    queries = technique_queries(techniques, document)
    search = SymbolSearch(index, queries, embedder)
    grounder = _Grounder(index, queries, search, least_support)
    ranked = grounder.rank()
    locations: list[Location] = []
    primaries: dict[str, str] = {}
    for technique in techniques:
        found = ranked[technique.id]
        locations.extend(
            Location(technique=technique.id, symbol=symbol, score=round(min(1.0, score), 4), rank=rank)
            for rank, (symbol, score) in enumerate(found, start=1)
        )
        if found:
            primaries[technique.id] = primary([symbol for symbol, _ in found], index)
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
    """The `limit` symbols that rank best for each technique, best first, however little speaks for them: for someone
    who reads them and decides. Ranked as `ground` ranks them. Raises `EmbeddingError`."""
    if not techniques or not codebase.modules:
        return {technique.id: () for technique in techniques}
    index = index or SymbolIndex(codebase)
    queries = technique_queries(techniques, document)
    grounder = _Grounder(index, queries, SymbolSearch(index, queries, embedder), 0.0, kept=limit, kept_share=0.0)
    ranked = grounder.rank()
    return {technique.id: tuple(symbol for symbol, _ in ranked[technique.id]) for technique in techniques}


def primary(found: Sequence[str], index: SymbolIndex) -> str:
    """Of the symbols of a technique, best first, the one that its code is made from: the best, unless it is a whole
    file and something inside it is located too, or a special method, which stands for its class."""
    best = index.entries[found[0]]
    if best.kind == "module":
        inside = (symbol for symbol in found if symbol != best.id and symbol.startswith(f"{best.id}::"))
        return next(inside, best.id)
    if best.short_name.startswith("__") and best.source.parent in index.entries:
        return str(best.source.parent)
    return best.id


class _Grounder:
    """One paper on one repository: evidence first, then what the techniques say about one another."""

    def __init__(
        self,
        index: SymbolIndex,
        queries: Sequence[TechniqueQuery],
        search: SymbolSearch,
        least_support: float,
        *,
        kept: int = _KEPT,
        kept_share: float = _KEPT_SHARE,
    ) -> None:
        self._index = index
        self._kept_count = kept
        self._kept_share = kept_share
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
            for called in entry.source.calls:
                self._callers.setdefault(called, []).append(entry.id)

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
            ranked[technique] = self._kept(technique, scores, self._least[technique])
            if ranked[technique] and not self._kept(technique, scores, LEAST_SUPPORT - shared):
                self.doubtful.add(technique)
        for siblings in [[t for t, q in self._queries.items() if q.parent is None], *self._children.values()]:
            self._part_siblings([t for t in siblings if t not in self._children and ranked[t]], ranked)
        return ranked

    def _scored(self, technique: str) -> dict[str, float]:
        """Candidates by evidence, then by their neighbours in the call graph: what calls or is called by a strong
        candidate gains, and a trivial wrapper loses to what it wraps."""
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
        """A technique of several components is where they come together: a candidate gains by the share of them that
        it holds, calls or is."""
        if len(set(parts)) < 2:
            return dict(scores)
        return _best_first(
            {
                symbol: score + _COMPOSER_SHARE * score * len(self._reach(symbol) & set(parts)) / len(set(parts))
                for symbol, score in scores.items()
            }
        )

    def _reach(self, symbol: str) -> set[str]:
        """A symbol, its members, and what these call, two calls deep."""
        reached = {symbol}
        frontier: Iterable[str] = [symbol]
        for _ in range(2):
            found: list[str] = []
            for at in frontier:
                entry = self._index.entries.get(at)
                found.extend((*entry.members, *entry.source.calls) if entry else ())
            frontier = [s for s in dict.fromkeys(found) if s not in reached]
            reached.update(frontier)
        return reached

    def _kept(self, technique: str, scores: Mapping[str, float], least: float) -> list[tuple[str, float]]:
        """The best well-founded candidate, if it is the best or nearly so, and what comes near it, founded or not:
        whoever reads the places sees their scores."""
        evidence = self._evidence[technique]
        founded = [(symbol, score) for symbol, score in scores.items() if evidence[symbol].support >= least]
        best = next(iter(scores.values()), 0.0)
        if not founded or founded[0][1] < _NEAR_BEST * best:
            return []
        first = founded[0]
        others = [(s, v) for s, v in scores.items() if s != first[0] and v >= self._kept_share * first[1]]
        return [first, *((s, min(v, first[1])) for s, v in others)][: self._kept_count]

    def _part_siblings(self, siblings: Sequence[str], ranked: dict[str, list[tuple[str, float]]]) -> None:
        """Two leaves of one parent do not take the same symbol where the weaker has another well-founded one that is
        nearly as good."""
        taken: set[str] = set()
        for technique in sorted(siblings, key=lambda t: -ranked[t][0][1]):
            found = ranked[technique]
            if found[0][0] in taken:
                evidence, least = self._evidence[technique], self._least[technique]
                free = [
                    (s, v)
                    for s, v in found
                    if s not in taken and v >= _RIVAL_SHARE * found[0][1] and evidence[s].support >= least
                ]
                if free:
                    found = [free[0], *(pair for pair in found if pair != free[0])]
                    # Scores stay in order of rank.
                    values = sorted((v for _, v in found), reverse=True)
                    ranked[technique] = [(s, v) for (s, _), v in zip(found, values, strict=True)]
            taken.add(ranked[technique][0][0])


def _best_first(scores: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


def evidence(query: TechniqueQuery, entry: Entry, search: SymbolSearch, i: int) -> Evidence:
    """What speaks for a symbol as the place of technique i of `search`."""
    found = search.lexical[i].get(entry.id, 0.0)
    best = next(iter(search.lexical[i].values()), 0.0)
    ceiling = search.index.ceiling(search.weights[i])
    return Evidence(
        name=_name_evidence(query, entry, search.index),
        text=min(1.0, 2.0 * found / ceiling) if ceiling else 0.0,
        share=found / best if best else 0.0,
        meaning=_cosine_evidence(search.similarity[i].get(entry.id, 0.0)),
        fair=_cosine_evidence(search.meaning[i].get(entry.id, 0.0)),
        role=role_factor(entry, query.about),
        exact=_is_called(query, entry),
    )


def _is_called(query: TechniqueQuery, entry: Entry) -> bool:
    own = entry.fields["name"]
    return own in query.forms or (len(own) == 1 and query.acronyms.get(own[0]) == 1.0)


def _cosine_evidence(cosine: float) -> float:
    # Between prose and code, MiniLM gives unrelated texts 0 to 0.15 and close ones seldom more than 0.6.
    return min(1.0, max(0.0, (cosine - 0.1) / 0.5))


def _name_evidence(query: TechniqueQuery, entry: Entry, index: SymbolIndex) -> float:
    """How much of a form of the name the symbol carries, its words weighed by how rare the repository has them, less
    where the symbol's own name says much else."""
    fields = {name: frozenset(entry.fields[name]) for name in _NAME_FIELDS}
    best = max((_form_evidence(form, fields, index) for form in query.forms), default=0.0)
    for acronym, sure in query.acronyms.items():
        best = max(best, sure * _field_value(acronym, fields) * (0.75 + 0.25 * index.rarity(acronym)))
    if not best:
        return 0.0
    return best * (0.65 + 0.35 * _explained(query, entry, index))


def _form_evidence(form: Sequence[str], fields: Mapping[str, frozenset[str]], index: SymbolIndex) -> float:
    vocabulary = index.vocabulary
    values = [
        max(sure * _field_value(said, fields) for said, sure in {**vocabulary.related(word), word: 1.0}.items())
        for word in form
    ]
    for compound, places in vocabulary.compounds(form).items():
        for i in places:
            values[i] = max(values[i], _field_value(compound, fields))
    # A repository that is named after a method need not say that name inside.
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
    """The share of a symbol's own name that the technique accounts for."""
    vocabulary = index.vocabulary
    said = {word for form in query.forms for word in form}
    said |= {related for word in said for related in vocabulary.related(word)}
    said |= {compound for form in query.forms for compound in vocabulary.compounds(form)} | set(query.acronyms)
    own = [word for word in entry.fields["name"] if word not in _SHAPES] or entry.fields["name"]
    total = sum(index.rarity(word) for word in own)
    if not total:
        return 0.0
    return sum(index.rarity(w) * (1 if w in said else 0.6 if w in query.definition else 0) for w in own) / total
