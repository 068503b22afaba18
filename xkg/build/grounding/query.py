"""Builds the search query for a technique. The query contains the technique's acronyms, variants of its name and the
words in its definition."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xkg.build.grounding.index.equation_symbols import equation_symbols, inline_formulas
from xkg.build.grounding.index.identifier_words import (
    Vocabulary,
    content_stems,
    initials,
    stem,
    stems,
    words,
)
from xkg.build.grounding.index.numbered import references
from xkg.build.grounding.index.symbol_index import SymbolIndex
from xkg.build.paper.document import Algorithm, Document, Equation, Section
from xkg.build.techniques.names import abbreviations
from xkg.build.techniques.section_roles import Role, role_of_title
from xkg.model import Technique

_PARENTHESES = re.compile(r"(?<!\s)\s*+\(([^()]*+)\)")
_TEX_NAME = re.compile(
    r"\\(?:operatorname|mathrm|text|textrm|mathsf|mathbf)\s*+(?:\*\s*+)?\{([^{}]*)\}|\\([A-Za-z]{2,})"
)
# These are TeX layout commands. Greek letters and functions (\exp, \log, \max) are not listed, because code uses them
# as names.
_LAYOUT = frozenset(
    stems(
        """left right frac begin end text mathbb mathcal mathbf mathrm operatorname array aligned quad qquad big bigg
        label nonumber displaystyle limits leq geq neq sim approx cdot cdots ldots times in to mid middle tilde hat bar
        vec underset overset top prime infty forall exists partial nabla defeq sum prod int cref eqref"""
    )
)
_OF_OTHERS = (Role.RELATED, Role.BACKGROUND, Role.EXPERIMENTS)
_DEFINITION_WORDS = 80
# The weight of an equation number, relative to 1 for a word in the definition.
_NUMBER_WEIGHT = 2.0
# An equation belongs to an excerpt if it starts at most this many characters before or after the excerpt.
_BEFORE, _AFTER = 100, 300


@dataclass(frozen=True)
class TechniqueQuery:
    """The search terms for a technique.

    `forms` contains the stems of the name and of each alias. `acronyms` maps short names (as stems) to confidences, and
    `definition` maps the definition's stems to weights. `text` is the text to embed. `symbols` contains the symbols in
    the technique's equations, spelled like identifiers. `numbers` contains the technique's equation and algorithm
    numbers, in the format of `numbered.references`. `cited` is True if the paper describes the technique only in
    sections on other work or experiments."""

    technique: str
    forms: tuple[tuple[str, ...], ...]
    acronyms: Mapping[str, float]
    definition: Mapping[str, float]
    text: str
    symbols: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    cited: bool = False

    def content_words(self) -> dict[str, str]:
        """Maps the stem of each word in the name and definition to the word itself."""
        return {stem(word): word for word in reversed(words(self.text))}

    @property
    def about(self) -> frozenset[str]:
        """Returns all stems in the name and definition."""
        return frozenset(word for form in self.forms for word in form) | frozenset(self.definition)

    def plain_weights(self, index: SymbolIndex) -> dict[str, float]:
        """Returns BM25 weights for symbols. Words in the name and definition weigh at most 1. Equation and algorithm
        numbers mentioned in comments also have weights."""
        numbers = dict.fromkeys(sorted(filter(index.knows, self.numbers)), _NUMBER_WEIGHT)
        return {word: min(1.0, self.definition.get(word, 1.0)) for word in sorted(self.about)} | numbers

    def name_weights(self, vocabulary: Vocabulary) -> dict[str, float]:
        """Returns BM25 weights for the words in the name, their variants in the repository, and the acronyms that occur
        in the repository."""
        weights: dict[str, float] = {}
        for form in self.forms:
            for word in form:
                weights[word] = 1.0
                for related, confidence in vocabulary.related(word).items():
                    weights[related] = max(weights.get(related, 0.0), confidence)
        for word, confidence in self.acronyms.items():
            if word in vocabulary.known:
                weights[word] = max(weights.get(word, 0.0), 2 * confidence)
        return weights

    def weights(self, index: SymbolIndex) -> dict[str, float]:
        """Returns BM25 weights. The name (`name_weights`) gets half of the total weight. The other half is shared by
        the words in the definition, and the equation and algorithm numbers that occur in the repository's comments."""
        query = self.name_weights(index.vocabulary)
        numbers = dict.fromkeys(sorted(filter(index.knows, self.numbers)), _NUMBER_WEIGHT)
        definition = {**self.definition, **numbers}
        total = sum(definition.values())
        share = sum(query.values()) / total if total else 0.0
        for word, weight in definition.items():
            query[word] = query.get(word, 0.0) + weight * share
        return query


def technique_queries(techniques: Sequence[Technique], document: Document | None) -> list[TechniqueQuery]:
    """Returns a query for each technique, in order. The acronyms come from every "long form (SHORT)" in the paper, not
    only from the technique's text."""
    texts = [document.text if document else "", *(f"{each.name}. {each.definition}" for each in techniques)]
    acronyms = abbreviations(texts)
    methods = [name for each in techniques if each.depth == 0 for name in (each.name, *each.aliases)]
    return [_query(technique, methods, acronyms, document) for technique in techniques]


def _query(
    technique: Technique, methods: Sequence[str], acronyms: Mapping[str, str], document: Document | None
) -> TechniqueQuery:
    # The code of "EggNet update rule" seldom repeats "EggNet".
    shown, name = technique.name.casefold(), technique.name
    for alias in technique.aliases:
        if any(shown in (f"{m} {alias}".casefold(), f"{alias} in {m}".casefold()) for m in methods):
            name = alias
    plain_name = _PARENTHESES.sub("", name).strip() or name
    shorts = [*_PARENTHESES.findall(name), *technique.aliases]
    phrases = [plain_name, *(short for short in shorts if not _is_acronym(short) or len(stems(short)) > 1)]
    short_names: dict[str, float] = {}
    for form in phrases:
        for short in initials(form):
            if len(short) >= 3:
                short_names[short] = 0.8
    for short, long in acronyms.items():
        # The paper abbreviates all or part of this technique's name.
        if long and set(content_stems(long)) and _contains(content_stems(plain_name), content_stems(long)):
            short_names[stem(short.lower())] = 1.0
    for short in (plain_name, *shorts):
        if _is_acronym(short) and len(parts := stems(short)) == 1:
            short_names[parts[0]] = 1.0
    displayed = [equation.latex for equation in _equations(technique, document)] if document else []
    return TechniqueQuery(
        technique=technique.id,
        forms=tuple(dict.fromkeys(form for text in phrases if (form := tuple(content_stems(text) or stems(text))))),
        acronyms=short_names,
        definition=_definition(technique, document),
        text=f"{plain_name}. {technique.definition}"[:600],
        symbols=equation_symbols(" ".join((inline_formulas(technique.definition), *displayed))),
        numbers=frozenset(_numbers(technique, document)) if document else frozenset(),
        cited=document is not None and _is_cited(technique, document),
    )


def _is_cited(technique: Technique, document: Document) -> bool:
    return bool(technique.excerpts) and all(
        any(role_of_title(title) in _OF_OTHERS for title in _titles(document.sections, excerpt.start))
        for excerpt in technique.excerpts
    )


def _titles(sections: Sequence[Section], offset: int) -> Iterable[str]:
    for section in sections:
        if section.start <= offset < section.end:
            yield section.title
            yield from _titles(section.children, offset)


def _is_acronym(text: str) -> bool:
    return len(text.split()) == 1 and 2 <= len(text) <= 10 and sum(c.isupper() for c in text) * 2 >= len(text)


def _contains(phrase: Sequence[str], part: Sequence[str]) -> bool:
    n = len(part)
    return any(list(phrase[i : i + n]) == list(part) for i in range(len(phrase) - n + 1))


def _definition(technique: Technique, document: Document | None) -> dict[str, float]:
    weights: dict[str, float] = {}
    for word in content_stems(technique.definition)[:_DEFINITION_WORDS]:
        # Repetition increases the weight of a word, but less than proportionally.
        weights[word] = weights.get(word, 0.0) * 0.5 + 1.0
    for word in _formal_words(technique, document) if document else ():
        weights.setdefault(word, 0.5)
    return weights


def _formal_words(technique: Technique, document: Document) -> Iterable[str]:
    """Yields the stems of names in equations and algorithms near the technique's excerpts."""
    for equation in _equations(technique, document):
        yield from _tex_words(equation.latex)
    for _, algorithm in _algorithms(technique, document):
        yield from content_stems(algorithm.body)[:_DEFINITION_WORDS]


def _numbers(technique: Technique, document: Document) -> Iterable[str]:
    """Yields the numbers of the equations and algorithms that are near the technique's excerpts or mentioned in
    them."""
    for equation in _equations(technique, document):
        yield from (f"eq:{number.casefold()}" for number in equation.numbers)
    yield from (f"alg:{number}" for number, _ in _algorithms(technique, document) if number)
    for excerpt in technique.excerpts:
        yield from references(document.text[excerpt.start : excerpt.end])


def _equations(technique: Technique, document: Document) -> Iterable[Equation]:
    """Yields the displayed equations near the technique's excerpts."""
    for excerpt in technique.excerpts:
        for equation in document.equations:
            if excerpt.start - _BEFORE <= equation.start <= excerpt.end + _AFTER:
                yield equation


def _algorithms(technique: Technique, document: Document) -> Iterable[tuple[int, Algorithm]]:
    """Yields each algorithm that overlaps the technique's excerpts, with its number, or 0 if it has no caption."""
    for excerpt in technique.excerpts:
        captioned = 0
        for algorithm in document.algorithms:
            captioned += bool(algorithm.title)
            if algorithm.start < excerpt.end and excerpt.start < algorithm.end:
                yield captioned if algorithm.title else 0, algorithm


def _tex_words(latex: str) -> Iterable[str]:
    for text, command in _TEX_NAME.findall(latex):
        if text:
            yield from content_stems(text)
        elif stem(command.lower()) not in _LAYOUT:
            yield stem(command.lower())
