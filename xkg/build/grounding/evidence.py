"""Scores the evidence that a symbol implements a technique. The evidence consists of names, words, lines and the
symbol's role in the repository."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xkg.build.grounding.index.identifier_words import stems
from xkg.build.grounding.index.symbol_index import Entry, SymbolIndex
from xkg.build.grounding.index.symbol_roles import role_factor
from xkg.build.grounding.query import TechniqueQuery
from xkg.build.grounding.symbol_search import SymbolSearch

# Maps fields to the weights of name words that occur in them.
_NAME_FIELDS: Mapping[str, float] = {
    "name": 1.0,
    "joined": 1.0,
    "owner": 0.75,
    "prose": 0.6,
    "body": 0.45,
    "signature": 0.4,
}
_CODE_FIELDS = {field: weight for field, weight in _NAME_FIELDS.items() if field != "prose"}
# The maximum weight of a word. The limit mainly affects words that the repository lacks, because a name in code often
# differs from the name in the paper by one word.
_UNSEEN = 0.8
_CALLED = 0.8
# Below this combined `rarity` of its words, a name such as "batch step" is too general.
_SPECIFIC = 0.6
# These words in a name only describe the kind of symbol.
_SHAPES = frozenset(stems("function fn func class module layer net network base impl util wrapper get compute"))


@dataclass(frozen=True)
class Evidence:
    """The evidence that a symbol implements a technique, as scores from 0 to 1.

    `words` scores the match with the technique's name and definition, relative to the best symbol. `name` scores the
    match with the technique's name or acronym in identifiers and prose. `own_name` ignores prose. `lines` scores the
    symbol's best block. `role` is below 1 for tests and similar code."""

    words: float
    name: float
    lines: float
    own_name: float
    role: float

    @property
    def score(self) -> float:
        """Returns the ranking score from 0 to 1. The score is the mean of `words`, `name` and `lines`, multiplied by
        `role`."""
        return (self.words + self.name + self.lines) / 3 * self.role


def evidence(query: TechniqueQuery, entry: Entry, search: SymbolSearch, i: int, lines: float) -> Evidence:
    """Returns the evidence that a symbol implements technique `i` of `search`. `lines` is the score of the symbol's
    best block."""
    lexical = search.lexical[i]
    best = next((score for symbol, score in lexical.items() if symbol in search.index.entries), 0.0)
    return Evidence(
        words=min(1.0, lexical.get(entry.id, 0.0) / best) if best else 0.0,
        name=_name_evidence(query, entry, search.index, _NAME_FIELDS),
        lines=lines,
        own_name=own_name(query, entry, search.index),
        role=role_factor(entry, query.about),
    )


def own_name(query: TechniqueQuery, entry: Entry, index: SymbolIndex) -> float:
    """Returns the fraction of the technique's name that occurs in the symbol's code, from 0 to 1. Ignores comments."""
    return _name_evidence(query, entry, index, _CODE_FIELDS)


def is_whole(query: TechniqueQuery, entry: Entry, index: SymbolIndex) -> bool:
    """Returns whether a symbol is named after the technique. All lines of such a symbol are assumed to implement the
    technique."""
    return _name_evidence(query, entry, index, {"name": 1.0, "joined": 1.0}) >= _CALLED


def _name_evidence(query: TechniqueQuery, entry: Entry, index: SymbolIndex, weights: Mapping[str, float]) -> float:
    """Returns the fraction of the technique's name, in its best-matching form, that occurs in the symbol. Words are
    weighted by their rarity in the repository. Many other words in the symbol's own name lower the result. `weights`
    lists the field weights, highest first."""
    fields = {name: frozenset(entry.fields[name]) for name in weights}

    def value(word: str) -> float:
        return next((weight for name, weight in weights.items() if word in fields[name]), 0.0)

    best = max((_form_evidence(form, value, index) for form in query.forms), default=0.0)
    for acronym, confidence in query.acronyms.items():
        best = max(best, confidence * value(acronym) * (0.75 + 0.25 * index.rarity(acronym)))
    return best * (0.65 + 0.35 * _explained(query, entry, index)) if best else 0.0


def _form_evidence(form: Sequence[str], value: Callable[[str], float], index: SymbolIndex) -> float:
    vocabulary = index.vocabulary
    values = [
        max(confidence * value(variant) for variant, confidence in {**vocabulary.related(word), word: 1.0}.items())
        for word in form
    ]
    # A repository named after a method need not repeat that name in its code.
    weights = [
        0.0 if word in index.titled and not value else min(_UNSEEN, index.rarity(word))
        for word, value in zip(form, values, strict=True)
    ]
    total = sum(weights)
    if not total:
        return 0.0
    return sum(w * v for w, v in zip(weights, values, strict=True)) / total * min(1.0, total / _SPECIFIC)


def _explained(query: TechniqueQuery, entry: Entry, index: SymbolIndex) -> float:
    """Returns the fraction of the words in a symbol's own name that come from the technique. Words are weighted by
    rarity."""
    vocabulary = index.vocabulary
    name_words = {word for form in query.forms for word in form}
    name_words |= {related for word in name_words for related in vocabulary.related(word)}
    name_words |= set(query.acronyms)
    own = [word for word in entry.fields["name"] if word not in _SHAPES] or entry.fields["name"]
    total = sum(index.rarity(word) for word in own)
    if not total:
        return 0.0
    return sum(index.rarity(w) * (1 if w in name_words else 0.6 if w in query.definition else 0) for w in own) / total
