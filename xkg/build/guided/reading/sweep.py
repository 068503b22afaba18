"""Asks once about what the techniques of a paper leave out, in its text and in its repository, so that no component is
missing without a word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from xkg.build.code.codebase import Codebase
from xkg.build.guided.draft import prompt
from xkg.build.guided.reading.definition_check import mangled, pointer
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.guided.reading.symbols_in_text import unsupported_numbers
from xkg.build.guided.reading.uncovered import uncovered
from xkg.build.guided.reading.untouched import untouched
from xkg.build.paper.document import Document
from xkg.build.techniques.names import words
from xkg.llm.client import AnswerType, Ask
from xkg.model import Excerpt, Symbol, Technique, unique_slugs
from xkg.value import Value

_MOST_NEW = 5
_BEGINNING = 160
_LONGEST_REASON = 200


class Item(AnswerType):
    candidate: int
    verdict: Literal["technique", "part", "outside", "none"]
    of: int
    name: str
    text: str


class Swept(AnswerType):
    items: tuple[Item, ...]


class Sweep(Value):
    """The techniques of a paper with those that were missing, parents first; `outside` are procedures of the paper
    that are said to be no part of its method, hidden with the reason; `parts` counts the definitions that were
    completed, `passages` and `code` the candidates that were asked about, and `nothing_in` those that hold no
    procedure: the beginning of a passage, path and name of code. `places` maps techniques to functions and classes
    (ids) that do them or a part of them."""

    techniques: tuple[Technique, ...]
    outside: tuple[Technique, ...] = ()
    parts: int = 0
    passages: int = 0
    code: int = 0
    nothing_in: tuple[str, ...] = ()
    places: Mapping[str, tuple[str, ...]] = Field(default={})


@dataclass(frozen=True)
class _Candidate:
    text: str
    passage: int | None
    symbol: Symbol | None = None


def sweep_with_model(
    techniques: Sequence[Technique],
    document: Document,
    ask: Ask,
    codebase: Codebase | None = None,
    located: Mapping[str, Sequence[str]] | None = None,
) -> Sweep:
    """One question, or none where definitions and located code cover paper and repository. `located` maps techniques to
    the symbols that do them. Raises as `ask` does."""
    passages = read_passages(document)
    found = [_Candidate(each.text, each.passage) for each in uncovered(passages, techniques)]
    count = len(found)
    if codebase is not None:
        places = [symbol for symbols in (located or {}).values() for symbol in symbols]
        found += [_Candidate(each.text, each.passage, each.symbol) for each in untouched(codebase, places, passages)]
    if not found:
        return Sweep(techniques=tuple(techniques))
    numbered = [f"{n}. {each.text}" for n, each in enumerate(found, start=1)]
    inputs = {
        "techniques": "\n".join(
            f"{n}. {t.name}: {_beginning(t.definition)}" for n, t in enumerate(techniques, start=1)
        ),
        "passages": "\n".join(numbered[:count]),
        "code": "\n".join(numbered[count:]),
    }
    answer = ask(
        prompt("sweep"),
        Swept,
        inputs,
        about=document.title,
        check=lambda swept: _complaint(swept, found, len(techniques), passages),
    )
    swept = _Applied(techniques, passages)
    for item in answer.items:
        swept.add(item, found[item.candidate - 1])
    nothing_in = (_named(found[item.candidate - 1]) for item in answer.items if item.verdict == "none")
    result = swept.result(count, len(found) - count)
    return result.model_copy(update={"nothing_in": tuple(dict.fromkeys(nothing_in))})


def _named(candidate: _Candidate) -> str:
    symbol = candidate.symbol
    return _beginning(candidate.text) if symbol is None else f"{symbol.path}::{symbol.qualified_name}"


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _BEGINNING else f"{line[:_BEGINNING]}…"


def _complaint(answer: Swept, found: Sequence[_Candidate], techniques: int, passages: Passages) -> str | None:
    """What is wrong with an answer, in words for the model; None where nothing is."""
    if sorted(item.candidate for item in answer.items) != list(range(1, len(found) + 1)):
        return f"items: answer for each of the candidates 1 to {len(found)} once"
    document = passages.document
    for item in answer.items:
        of = f"the item of candidate {item.candidate}"
        if item.verdict == "part" and not 1 <= item.of <= techniques:
            return f"{of}: give the number of the technique that it is a part of, 1 to {techniques}"
        if item.verdict == "technique" and not (item.text.strip() and words(item.name)):
            return f"{of}: a technique has a name and a definition"
        if item.verdict == "outside" and not (item.text.strip() and words(item.name)):
            return (
                f"{of}: give its name, and say in a few words why it is not of the method; what is no procedure is none"
            )
        if item.verdict in ("outside", "none"):
            continue
        if place := mangled(f"{item.name} {item.text}"):
            return f"{of} lost a backslash before {place!r}: in JSON each is written twice"
        if place := pointer(item.text):
            return f"{of} points to {place!r}: say it in its own words"
        sources = [document.title, document.abstract, document.text, found[item.candidate - 1].text]
        if odd := unsupported_numbers(item.text, sources, document.macros):
            return f"{of} has {', '.join(odd)}, which stands nowhere in the paper"
    return None


class _Applied:
    """The techniques after the items of an answer, in order; several candidates may be one technique."""

    def __init__(self, techniques: Sequence[Technique], passages: Passages) -> None:
        self._passages = passages
        self._ids = [t.id for t in techniques]
        self._changed = {t.id: t for t in techniques}
        self._known = {tuple(words(name)): t.id for t in techniques for name in (t.name, *t.aliases)}
        self._new: dict[tuple[str, ...], Technique] = {}
        self._places: dict[tuple[str, ...], list[str]] = {}
        self._parts = 0

    def add(self, item: Item, candidate: _Candidate) -> None:
        excerpts = self._passages.excerpts([candidate.passage]) if candidate.passage and not candidate.symbol else ()
        name = " ".join(item.name.split())
        key = tuple(words(name))
        text = " ".join(item.text.split())
        above = self._changed[self._ids[item.of - 1]] if 1 <= item.of <= len(self._ids) else None
        if item.verdict == "part" or (item.verdict == "technique" and key in self._known):
            identity = self._known.get(key) or (above.id if above else None)
            if identity is not None:
                self._complete(self._changed[identity], text if item.verdict == "part" else "", excerpts)
                self._place((identity,), candidate)
        elif item.verdict in ("technique", "outside") and key and key not in self._known:
            self._place(key, candidate)
            if (before := self._new.get(key)) is not None:
                both = sorted({*before.excerpts, *excerpts}, key=lambda e: e.start)
                self._new[key] = before.model_copy(update={"excerpts": tuple(both)})
                return
            if candidate.symbol is not None and candidate.passage:
                excerpts = self._passages.excerpts([candidate.passage])
            is_new = item.verdict == "technique"
            if is_new and sum(t.hidden is None for t in self._new.values()) >= _MOST_NEW:
                is_new, text = False, "a technique beside the ones that there was room for"
            self._new[key] = Technique(
                id="",
                name=name,
                parent=above.id if is_new and above else self._ids[0],
                definition=text if is_new else "",
                excerpts=excerpts,
                hidden=None if is_new else f"not part of the paper's method: {text[:_LONGEST_REASON]}",
            )

    def result(self, passages: int, code: int) -> Sweep:
        added = [self._with_place(key, t) for key, t in self._new.items()]
        every = _placed(list(self._changed.values()), added)
        ids = {tuple(words(t.name)): t.id for t in every if t.id not in self._changed}
        places = {ids.get(key, key[0]): tuple(dict.fromkeys(symbols)) for key, symbols in self._places.items()}
        shown = tuple(t for t in every if t.hidden is None)
        return Sweep(
            techniques=shown,
            outside=tuple(t for t in every if t.hidden),
            parts=self._parts,
            passages=passages,
            code=code,
            places={each.id: places[each.id] for each in shown if each.id in places},
        )

    def _complete(self, technique: Technique, text: str, excerpts: Sequence[Excerpt]) -> None:
        self._parts += bool(text)
        both = sorted(dict.fromkeys([*technique.excerpts, *excerpts]), key=lambda e: e.start)
        definition = f"{technique.definition} {text}".strip()
        self._changed[technique.id] = technique.model_copy(update={"definition": definition, "excerpts": tuple(both)})

    def _place(self, key: tuple[str, ...], candidate: _Candidate) -> None:
        if candidate.symbol is not None:
            self._places.setdefault(key, []).append(candidate.symbol.id)

    def _with_place(self, key: tuple[str, ...], technique: Technique) -> Technique:
        """What is left out, with the places where the repository has it."""
        if technique.hidden is None or not (symbols := self._places.get(key)):
            return technique
        places = ", ".join(symbol.partition(":")[2].partition(":")[2] for symbol in symbols)
        return technique.model_copy(update={"hidden": f"{technique.hidden} (in the repository: {places})"})


def _placed(techniques: Sequence[Technique], added: Sequence[Technique]) -> list[Technique]:
    """All in preorder, the added ones last among their siblings, with ids, depths, and weights that sum to 1."""
    below: dict[str | None, list[Technique]] = {}
    for technique in [*techniques, *added]:
        below.setdefault(technique.parent, []).append(technique)
    out: list[Technique] = []

    def place(parent: Technique | None) -> None:
        siblings = below.get(parent.id if parent else None, [])
        taken = {t.id for t in siblings if t.id}
        slugs = dict(zip((id(t) for t in siblings), unique_slugs(t.name for t in siblings), strict=True))
        grown = [t for t in siblings if not t.id and not t.hidden]
        share = 1.0 - len(grown) / len(siblings) if siblings else 1.0
        for each in siblings:
            if each.id:
                placed = each.model_copy(update={"weight": each.weight * share}) if grown else each
            else:
                prefix = f"{parent.id}/" if parent else ""
                identity = f"{prefix}{slugs[id(each)]}"
                while identity in taken:
                    identity += "-2"
                taken.add(identity)
                depth = parent.depth + 1 if parent else 0
                weight = 0.0 if each.hidden else 1.0 / len(siblings)
                placed = each.model_copy(update={"id": identity, "depth": depth, "weight": weight})
            out.append(placed)
            if each.id:
                place(placed)

    place(None)
    return out


def in_preorder(techniques: Sequence[Technique]) -> tuple[Technique, ...]:
    """The techniques, each right after its parent and before that one's next sibling."""
    below: dict[str | None, list[Technique]] = {}
    for technique in techniques:
        below.setdefault(technique.parent, []).append(technique)
    out: list[Technique] = []
    ahead = list(reversed(below.get(None, [])))
    while ahead:
        out.append(ahead.pop())
        ahead += reversed(below.get(out[-1].id, []))
    return tuple(out)
