"""The evidence for a symbol as the place of a technique: names, words and meaning, and what lowers it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xkg.build.grounding.index.identifier_words import stems
from xkg.build.grounding.index.symbol_index import Entry, SymbolIndex
from xkg.build.grounding.index.symbol_roles import role_factor
from xkg.build.grounding.query import TechniqueQuery
from xkg.build.grounding.symbol_search import SymbolSearch

# The weight of a name's word by the field it occurs in.
_NAME_FIELDS: Mapping[str, float] = {"name": 1.0, "owner": 0.75, "prose": 0.6, "body": 0.45, "signature": 0.4}
# The weight of a word that the repository lacks, below that of the rarest present one: papers and code often differ in
# one word of a name.
_UNSEEN = 0.8
# A name whose words together are less rare than this (by `rarity`) is too general: "batch step".
_SPECIFIC = 0.6
# Words of a name that only give the kind of symbol.
_SHAPES = frozenset(stems("function fn func class module layer net network base impl util wrapper get compute"))
# No kind of evidence counts for more than this: none is enough alone.
_KIND_LIMIT = 0.75


@dataclass(frozen=True)
class Evidence:
    """Evidence for a symbol, each kind in 0..1. `words`: those of name and definition, relative to the best symbol;
    `name`: the technique's name or acronym in names and prose; `lines`: the best block of the symbol. `text` is `words`
    relative to all of them, `meaning` the embedding similarity. `role` lowers tests and the like."""

    words: float
    name: float
    lines: float
    text: float
    meaning: float
    role: float

    @property
    def score(self) -> float:
        """For ranking the symbols of one technique, 0..1: the mean of three kinds. On seventeen repositories no other
        weights of them from a half to twice did better on two sets, and each of the three was needed."""
        return (self.words + self.name + self.lines) / 3 * self.role

    @property
    def support(self) -> float:
        """The support of the symbol, independent of the other symbols of the repository: 0 to 2.25."""
        return sum(min(kind, _KIND_LIMIT) for kind in (self.name, self.text, self.meaning)) * self.role


def evidence(query: TechniqueQuery, entry: Entry, search: SymbolSearch, i: int, lines: float) -> Evidence:
    """The evidence for a symbol as the place of technique i of `search`; `lines` is the score of its best block."""
    lexical = search.lexical[i].get(entry.id, 0.0)
    best = next(iter(search.lexical[i].values()), 0.0)
    ceiling = search.index.ceiling(search.weights[i])
    return Evidence(
        words=lexical / best if best else 0.0,
        name=_name_evidence(query, entry, search.index),
        lines=lines,
        text=min(1.0, 3.0 * lexical / ceiling) if ceiling else 0.0,
        meaning=_cosine_evidence(search.similarity[i].get(entry.id, 0.0)),
        role=role_factor(entry, query.about),
    )


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
