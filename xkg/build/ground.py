"""Where a repository does what a paper describes: techniques → ranked symbols, or none.

Hybrid retrieval (fielded BM25 and embeddings, fused by reciprocal rank) proposes candidates; evidence of several
independent kinds ranks them; what is supported by one kind alone is not located at all. No language model is needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from xkg.build.codebase import Codebase
from xkg.build.document import Document
from xkg.build.roles import is_thin, role_factor
from xkg.build.symbol_index import FORWARD_METHODS, Entry, SymbolIndex, rendering
from xkg.build.technique_query import TechniqueQuery, technique_queries
from xkg.embed import Embedder
from xkg.model import Location, Technique
from xkg.ranking import reciprocal_rank_fusion

_CANDIDATES = 50
_EMBEDDED = 900
_KEPT = 5

# How much a name found in each field says.
_NAME_FIELDS: Mapping[str, float] = {"name": 1.0, "owner": 0.75, "prose": 0.6, "body": 0.45, "signature": 0.4}
THRESHOLD = 0.0
CSLS = 0.4


class Grounding(BaseModel):
    """`locations` by technique in the order given, best first; a technique that fits nowhere has none. `primaries` names
    the symbol that the code of a located technique is made from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    locations: tuple[Location, ...] = ()
    primaries: Mapping[str, str] = {}

    def of(self, technique: str) -> tuple[Location, ...]:
        """The locations of one technique, best first."""
        return tuple(location for location in self.locations if location.technique == technique)


@dataclass(frozen=True)
class Evidence:
    """What speaks for a symbol, each in 0..1: `name` the technique's name in names and prose, `text` the words of its
    definition, `meaning` the embeddings; `role` holds back tests, plots, settings and the like."""

    name: float
    text: float
    meaning: float
    role: float


class Retrieval:
    """A codebase ready to be searched: BM25 and vectors over its symbols."""

    def __init__(self, codebase: Codebase, embedder: Embedder, queries: Sequence[TechniqueQuery]) -> None:
        self.index = SymbolIndex(codebase)
        self.weights = [query.weights(self.index.vocabulary) for query in queries]
        self.lexical = [self.index.search(weights) for weights in self.weights]
        self.named = [self.index.search(query.name_weights(self.index.vocabulary)) for query in queries]
        embedded = self._worth_embedding()
        vectors = embedder.embed([rendering(self.index.entries[symbol]) for symbol in embedded]) if embedded else None
        asked = embedder.embed([query.text for query in queries]) if queries and embedded else None
        self.semantic: list[dict[str, float]] = [{} for _ in queries]
        if vectors is not None and asked is not None:
            similarity: NDArray[np.float32] = asked @ vectors.T
            self.raw=similarity
            self.embedded=embedded
            if CSLS:
                k=min(10,len(embedded)); rq=np.sort(similarity,axis=1)[:,-k:].mean(1,keepdims=True)
                k=min(10,max(1,len(queries)//2)); rs=np.sort(similarity,axis=0)[-k:].mean(0,keepdims=True)
                similarity=similarity-CSLS*(rs-rs.mean())
            for i, row in enumerate(similarity):
                order = np.lexsort((np.arange(len(row)), -row))
                self.semantic[i] = {embedded[j]: float(row[j]) for j in order}

    def _worth_embedding(self) -> list[str]:
        """Embedding is what costs time: in a large repository only what some technique's words reach is embedded."""
        entries = [e.id for e in self.index.entries.values() if not (e.kind == "module" and e.members) and not _dunder(e)]
        if len(entries) <= _EMBEDDED:
            return entries
        fused = reciprocal_rank_fusion([list(scores)[:_EMBEDDED] for scores in self.lexical])
        chosen = {symbol for symbol, _ in fused} & set(entries)
        best = [symbol for symbol, _ in fused if symbol in chosen][:_EMBEDDED]
        return sorted(best)

    def fused(self, i: int) -> list[str]:
        """Symbols for technique i by reciprocal rank of both searches."""
        rankings = (list(self.lexical[i]), list(self.named[i]), list(self.semantic[i])[: 4 * _CANDIDATES])
        return [symbol for symbol, _ in reciprocal_rank_fusion(rankings)]


def _dunder(entry: Entry) -> bool:
    name = entry.short_name
    return name.startswith("__") and name.endswith("__") and name not in FORWARD_METHODS


def name_evidence(query: TechniqueQuery, entry: Entry, index: SymbolIndex) -> float:
    best = 0.0
    fields = {name: set(entry.fields[name]) for name in _NAME_FIELDS}
    for form in query.forms:
        values = [0.0] * len(form)
        for i, word in enumerate(form):
            for related, sure in index.vocabulary.related(word).items():
                for name, value in _NAME_FIELDS.items():
                    if related in fields[name]:
                        values[i] = max(values[i], value * sure)
                        break
            for name in ("prose",):
                if word in fields[name]:
                    values[i] = max(values[i], _NAME_FIELDS[name])
        for compound, places in index.vocabulary.compounds(form).items():
            for name, value in _NAME_FIELDS.items():
                if compound in fields[name]:
                    for i in places:
                        values[i] = max(values[i], value)
                    break
        weights = [min(0.8, index.rarity(word)) for word in form]
        if sum(weights):
            best = max(best, sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights))
    for acronym, sure in query.acronyms.items():
        for name, value in _NAME_FIELDS.items():
            if acronym in fields[name]:
                best = max(best, sure * value * (0.5 + 0.5 * index.rarity(acronym)))
                break
    own = entry.fields["name"]
    if not own or not best:
        return best
    explained = 0.0
    said = {word for form in query.forms for word in form}
    near = {r for word in said for r in index.vocabulary.related(word)} | set(query.acronyms)
    near |= {c for form in query.forms for c in index.vocabulary.compounds(form)}
    total = sum(index.rarity(word) for word in own)
    explained = sum(index.rarity(w) * (1 if w in near else 0.6 if w in query.definition else 0) for w in own)
    precision = explained / total if total else 0.0
    return best * (0.65 + 0.35 * precision)


def evidence(query: TechniqueQuery, entry: Entry, retrieval: Retrieval, i: int) -> Evidence:
    index = retrieval.index
    ceiling = index.ceiling(retrieval.weights[i]) or 1.0
    return Evidence(
        name=name_evidence(query, entry, index),
        text=min(1.0, 2.0 * retrieval.lexical[i].get(entry.id, 0.0) / ceiling),
        meaning=min(1.0, max(0.0, (retrieval.semantic[i].get(entry.id, 0.0) - 0.1) / 0.5)),
        role=role_factor(entry, query.about),
    )


def score(e: Evidence) -> float:
    return (0.4 * e.name + 0.25 * e.text + 0.35 * e.meaning) * e.role
