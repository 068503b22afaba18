"""Locates techniques in a repository. A search finds candidates, and a language model judges them."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from xkg.build.code.codebase import Codebase
from xkg.build.grounding.ground import Grounding, candidates, primary
from xkg.build.grounding.index.symbol_index import Entry, SymbolIndex
from xkg.build.guided.draft import prompt
from xkg.build.guided.lookup import Asking, Lookup, place_of
from xkg.build.paper.document import Document
from xkg.build.slicing.docstrings import with_first_lines_of_docstrings
from xkg.embeddings.base import Embedder
from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, Ask, More
from xkg.model import LineRange, Location, Technique
from xkg.value import Value

CANDIDATES = 10
MOST_PLACES = 5
_MOST_ASKED = 24
_DEFINITION = 2_600  # characters; never shortens definitions, because the model would not look for the missing parts
# The number of lines shown for the top-ranked symbols of a technique, and for other symbols. All symbols are shortened
# further if they exceed the size of a question. The model can open the remaining lines.
_FIRST = 3
_LINES = 60
_LINES_OF_OTHERS = 10
_FEWEST_LINES = 4
_LONGEST_LINE = 200
_LONGEST_NAME = 100
_CANDIDATE_CHARACTERS = 30_000

_Confidence = Literal["high", "medium", "low"]
_SCORES: Mapping[_Confidence, float] = {"high": 0.95, "medium": 0.75, "low": 0.5}
# Keeps places with equal confidence in the order in which the answer lists them.
_STEP = 0.02


# `symbol` is the number of a candidate, or `file.py::Name`.
class Place(AnswerType):
    symbol: str
    sure: _Confidence
    lines: tuple[str, ...]


class Judged(AnswerType):
    technique: int
    why: str
    places: tuple[Place, ...]
    lacking: str


class Places(Asking):
    techniques: tuple[Judged, ...]


class GuidedGrounding(Value):
    """The located techniques. `why` maps each technique to a sentence by the model on where its code is, or why it has
    none. `lines` maps a technique and a symbol to the relevant lines if the symbol also does other things. If the model
    gave no usable answer about a technique, `failed` maps the technique to the reason."""

    grounding: Grounding
    why: Mapping[str, str] = {}
    lines: Mapping[str, Mapping[str, tuple[LineRange, ...]]] = {}
    failed: Mapping[str, str] = {}


def ground_with_model(
    techniques: Sequence[Technique],
    codebase: Codebase,
    embedder: Embedder,
    document: Document | None,
    overview: str,
    ask: Ask,
    named: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> GuidedGrounding:
    """Locates each technique at zero to five symbols. For each technique, the model sees the symbols in `named` and the
    ten best search results. The model may look at other places in the repository before it answers. Scores express the
    model's confidence: about 0.95, 0.75 or 0.5.

    One question covers up to 24 techniques. If there are more techniques, or the answer is unusable, the techniques are
    split between two questions.

    Raises `EmbeddingError`. Also raises the same errors as `ask`, except `AnswerError`."""
    if not techniques or not codebase.modules:
        return GuidedGrounding(grounding=Grounding())
    ranked = candidates(techniques, codebase, embedder, document, limit=CANDIDATES)
    symbols = {
        t: [*(each for each in named.get(t, ()) if each in ranked.index.entries), *found]
        for t, found in ranked.symbols.items()
    }
    judge = _Judge(codebase, techniques, symbols, ranked.index, overview, ask)
    judged, failed = judge.batch(techniques)
    locations: list[Location] = []
    primaries: dict[str, str] = {}
    for technique in techniques:
        located = judged[technique.id].places if technique.id in judged else ()
        score = 1.0
        for rank, (symbol, sure, chosen) in enumerate(located, start=1):
            score = round(min(score, _SCORES[sure] - _STEP * (rank - 1)), 4)
            locations.append(
                Location(
                    technique=technique.id,
                    symbol=symbol,
                    score=score,
                    rank=rank,
                    focus=chosen or ranked.focus(technique.id, symbol),
                    doubtful=located[0][1] == "low",
                )
            )
        if located:
            primaries[technique.id] = primary([symbol for symbol, _, _ in located], ranked.index)
    return GuidedGrounding(
        grounding=Grounding(locations=tuple(locations), primaries=primaries),
        why={t.id: judged[t.id].why for t in techniques if t.id in judged and judged[t.id].why},
        lines={t.id: lines for t in techniques if t.id in judged and (lines := judged[t.id].lines)},
        failed={t.id: failed[t.id] for t in techniques if t.id in failed},
    )


@dataclass(frozen=True)
class _Located:
    """Lists the symbols for a technique, best first, with the model's sentence about them. Each symbol is mapped to the
    lines that implement the technique. An empty list means the whole symbol."""

    places: tuple[tuple[str, _Confidence, tuple[LineRange, ...]], ...] = ()
    why: str = ""

    @property
    def lines(self) -> dict[str, tuple[LineRange, ...]]:
        return {symbol: lines for symbol, _, lines in self.places if lines}


@dataclass(frozen=True)
class _Judge:
    """Asks the model where a paper's techniques are implemented in a repository."""

    codebase: Codebase
    techniques: Sequence[Technique]
    ranked: Mapping[str, Sequence[str]]
    index: SymbolIndex
    overview: str
    ask: Ask

    def batch(self, batch: Sequence[Technique]) -> tuple[dict[str, _Located], dict[str, str]]:
        """Returns the places for each technique, or the reason why there is no answer."""
        if len(batch) > _MOST_ASKED:
            return self._halves(batch)
        entries = self._listed(batch)
        if not entries:
            return {technique.id: _Located() for technique in batch}, {}
        inputs = {
            "overview": self.overview or "(no description)",
            "techniques": self._described(batch),
            "candidates": self._render_candidates(entries, batch),
        }
        about = ", ".join(technique.name for technique in batch)
        lookup = Lookup(self.codebase)

        def check(answer: Places) -> str | More | None:
            return lookup.more(answer) or self._complaint(answer, len(batch), entries)

        try:
            answer = self.ask(prompt("ground"), Places, inputs, about=about, check=check)
        except AnswerError as error:
            if len(batch) == 1:
                return {}, {batch[0].id: str(error)}
            return self._halves(batch)
        by_number = {judged.technique: judged for judged in answer.techniques}
        return {
            technique.id: _Located(
                tuple(
                    (entry.id, place.sure, self._quoted(entry, place.lines))
                    for place in by_number[i].places
                    if (entry := self._entry(place.symbol, entries)) is not None
                ),
                _reason(by_number[i]),
            )
            for i, technique in enumerate(batch, start=1)
        }, {}

    def _halves(self, batch: Sequence[Technique]) -> tuple[dict[str, _Located], dict[str, str]]:
        half = len(batch) // 2
        (first, failed), (second, also_failed) = self.batch(batch[:half]), self.batch(batch[half:])
        return first | second, failed | also_failed

    def _quoted(self, entry: Entry, quotes: Sequence[str]) -> tuple[LineRange, ...]:
        symbol = entry.source.symbol
        if entry.kind not in ("function", "method", "module") or self.codebase.module(symbol).language != "python":
            return ()
        return quoted_lines(self.codebase.source(symbol), symbol.start_line, quotes)

    def _listed(self, batch: Sequence[Technique]) -> list[Entry]:
        """Returns the candidates for the batch in file order."""
        listed = {symbol for technique in batch for symbol in self.ranked[technique.id]}
        return [entry for identity, entry in self.index.entries.items() if identity in listed]

    def _entry(self, named: str, entries: Sequence[Entry]) -> Entry | None:
        """Returns the symbol that an answer refers to: a candidate by its number, any other symbol by file and name."""
        name = named.strip().strip("[]")
        if name.isdecimal():
            return entries[int(name) - 1] if 0 < int(name) <= len(entries) else None
        return next((e for e in self.index.entries.values() if place_of(e.source.symbol) == name), None)

    def _described(self, batch: Sequence[Technique]) -> str:
        by_id = {technique.id: technique for technique in self.techniques}
        lines = []
        for i, technique in enumerate(batch, start=1):
            parent = by_id.get(technique.parent or "")
            also = f", also called {', '.join(technique.aliases[:3])}" if technique.aliases else ""
            part = f", part of {parent.name}" if parent else ""
            definition = textwrap.shorten(technique.definition, _DEFINITION, placeholder=" …")
            lines.append(f"{i}. {technique.name}{also} ({technique.kind}{part}): {definition}")
        return "\n".join(lines)

    def _render_candidates(self, entries: Sequence[Entry], batch: Sequence[Technique]) -> str:
        first = {symbol for technique in batch for symbol in self.ranked[technique.id][:_FIRST]}
        bodies = [_body(entry, entries) for entry in entries]

        def block(i: int, entry: Entry, share: float) -> str:
            most = max(_FEWEST_LINES, round(share * (_LINES if entry.id in first else _LINES_OF_OTHERS)))
            body = bodies[i]
            more = [f"… {len(body) - most} more lines"] if len(body) > most else []
            symbol = entry.source.symbol
            head = f"[{i + 1}] {place_of(symbol)} ({entry.kind}, lines {symbol.start_line}-{symbol.end_line})"
            return "\n".join([head, *body[:most], *more])

        share = 1.0
        while True:
            rendered = "\n\n".join(block(i, entry, share) for i, entry in enumerate(entries))
            if len(rendered) <= _CANDIDATE_CHARACTERS or share * _LINES <= _FEWEST_LINES:
                return rendered
            share *= 0.8

    def _complaint(self, answer: Places, techniques: int, entries: Sequence[Entry]) -> str | None:
        numbers = [judged.technique for judged in answer.techniques]
        if sorted(numbers) != list(range(1, techniques + 1)):
            return f"answer for each technique from 1 to {techniques} once; the answer has {numbers}"
        for judged in answer.techniques:
            chosen = [self._entry(place.symbol, entries) for place in judged.places]
            if None in chosen:
                unknown = judged.places[chosen.index(None)].symbol[:_LONGEST_NAME]
                return (
                    f"technique {judged.technique}: there is no candidate {unknown}; give a number from 1 to "
                    f"{len(entries)}, or `file.py::Name` of another place, or an empty list for none"
                )
            if len({entry.id for entry in chosen if entry}) < len(chosen):
                return f"technique {judged.technique}: a candidate is listed twice; list each once"
            if len(chosen) > MOST_PLACES:
                return f"technique {judged.technique}: {len(chosen)} places, at most {MOST_PLACES}; keep the best"
        return None


def _body(entry: Entry, entries: Sequence[Entry]) -> list[str]:
    """Returns a symbol's lines, without blank lines and with only the first line of each docstring. If the symbol
    contains other candidates, each of them is replaced with its number and signature."""
    lines = entry.text.split("\n")
    top = entry.source.symbol.start_line
    for (first, last), instead in _inner(entry, entries).items():
        line = lines[first - top]
        lines[first - top : last - top + 1] = [""] * (last - first + 1)
        lines[first - top] = f"{line[: len(line) - len(line.lstrip())]}# {instead}"
    text = with_first_lines_of_docstrings(textwrap.dedent("\n".join(lines)))
    return [line[:_LONGEST_LINE] for line in text.split("\n") if line.strip()]


def quoted_lines(source: str, first: int, quotes: Sequence[str]) -> tuple[LineRange, ...]:
    """Returns the source lines that equal one of the quotes (or else begin with it), ignoring whitespace. Lines are
    numbered from `first`. Returns () if any quote is missing."""
    texts = {number: "".join(line.split()) for number, line in enumerate(source.split("\n"), first)}
    found: set[int] = set()
    for quote in ("".join(words.split()).removesuffix("…") for words in quotes):
        places = {number for number, text in texts.items() if quote and text == quote}
        places = places or {number for number, text in texts.items() if quote and text.startswith(quote)}
        if not places:
            return ()
        found |= places
    ranges: list[LineRange] = []
    for number in sorted(found):
        if ranges and number == ranges[-1].end_line + 1:
            ranges[-1] = ranges[-1].model_copy(update={"end_line": number})
        else:
            ranges.append(LineRange(start_line=number, end_line=number, why="the model located the technique here"))
    return tuple(ranges)


def _reason(judged: Judged) -> str:
    """Returns the model's sentence, plus the parts of the definition that the model did not find."""
    lacking = " ".join(judged.lacking.split()) if judged.places else ""
    return " ".join([*judged.why.split(), *([f"None of these places contains: {lacking}"] if lacking else [])])


def _inner(entry: Entry, entries: Sequence[Entry]) -> dict[tuple[int, int], str]:
    """If this candidate contains other candidates, maps the lines of each outermost one to its number and signature."""
    inner: dict[tuple[int, int], str] = {}
    own = entry.source.symbol
    for i, other in enumerate(entries, start=1):
        symbol = other.source.symbol
        first, last = symbol.start_line, symbol.end_line
        inside = symbol.path == own.path and own.start_line <= first and last <= own.end_line
        same_lines = (first, last) == (own.start_line, own.end_line) and entry.kind != "module"
        is_part = inside and other.kind != "module" and not same_lines
        if is_part and not any(a <= first and last <= b for a, b in inner):
            inner[first, last] = f"[{i}] {' '.join(symbol.signature.split())}"
    return inner
