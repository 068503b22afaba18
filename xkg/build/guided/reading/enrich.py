"""Stage 2 with a language model: definitions that can be implemented, from retrieved excerpts of the paper.

Techniques that share excerpts share a question, and each definition is checked separately: a technique with a faulty
definition is asked again alone, with the fault."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pydantic import Field

from xkg.build.guided.draft import prompt
from xkg.build.guided.parallel import each
from xkg.build.guided.reading.definition_check import mangled, pointer
from xkg.build.guided.reading.outline import rendered, room
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.guided.reading.retrieval import TOP, Chunk, nearest_chunks
from xkg.build.guided.reading.symbols_in_text import unsupported, unsupported_numbers
from xkg.build.paper.document import Document
from xkg.embeddings.base import Embedder
from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, Ask
from xkg.model import Technique
from xkg.value import Value

BATCH = 12  # techniques a question
ROOM = 30_000  # characters of passages a question
_QUESTION = 3_000  # tokens of the question itself, with the techniques of a batch
_ANSWER = 12_000  # tokens of an answer with its reasoning
_LEAST_CHUNKS = 2  # of each technique, in a question about several
_LONGEST = 2_500  # characters of a definition


class Definition(AnswerType):
    technique: int
    text: str
    passages: list[int]


class Definitions(AnswerType):
    definitions: list[Definition]


class Enriched(Value):
    """The techniques in order. `failed` maps those that keep their old definition to the reason, by id."""

    techniques: tuple[Technique, ...]
    failed: dict[str, str] = Field(default={})


def enrich_with_model(
    techniques: Sequence[Technique],
    document: Document,
    embedder: Embedder,
    ask: Ask,
    jobs: int,
    window: int = 128_000,
) -> Enriched:
    """The techniques of a paper (parents first) with better definitions; their excerpts are the passages that these
    cite and the previous ones. `jobs` questions run at a time, each of at most `window` tokens, its answer included.

    Raises `EmbeddingError`, and what `ask` raises except `AnswerError`.
    """
    passages = read_passages(document)
    chunks = dict(zip((t.id for t in techniques), nearest_chunks(techniques, passages, embedder), strict=True))
    work = _Enrichment(techniques, passages, chunks, ask, room(window, _QUESTION, _ANSWER, ROOM))
    answers = each(work.answered, work.batches(), jobs)
    results = {identity: outcome for answer in answers for identity, outcome in answer.items()}
    outcomes = [results.get(t.id, t) for t in techniques]
    return Enriched(
        techniques=tuple(t if isinstance(o, str) else o for t, o in zip(techniques, outcomes, strict=True)),
        failed={t.id: o for t, o in zip(techniques, outcomes, strict=True) if isinstance(o, str)},
    )


_Selection = Mapping[int, frozenset[int]]  # passage number -> its pieces


@dataclass(frozen=True)
class _Enrichment:
    techniques: Sequence[Technique]
    passages: Passages
    chunks: Mapping[str, Sequence[Chunk]]
    ask: Ask
    room: int

    def batches(self) -> Iterator[list[Technique]]:
        """Groups of neighbours in the hierarchy, since they share passages; techniques without passages are omitted."""
        covered = [t for t in self.techniques if self.chunks[t.id]]
        count = math.ceil(len(covered) / BATCH)
        for n in range(count):
            yield from self._that_fit(covered[len(covered) * n // count : len(covered) * (n + 1) // count])

    def _that_fit(self, batch: list[Technique]) -> Iterator[list[Technique]]:
        half = len(batch) // 2
        if half and self._size(self._union(batch, _LEAST_CHUNKS)) > self.room:
            yield from self._that_fit(batch[:half])
            yield from self._that_fit(batch[half:])
        else:
            yield batch

    def answered(
        self, batch: Sequence[Technique], remarks: Mapping[str, str] | None = None
    ) -> dict[str, Technique | str]:
        """For each technique the improved one, or the fault. Techniques with faults are asked again alone."""
        selection = self._select(batch)

        def check(answer: Definitions) -> str | None:
            evaluated = self._evaluate(batch, answer, selection)
            faults = [f"technique {n}: {o}" for n, o in enumerate(evaluated.values(), start=1) if isinstance(o, str)]
            return "; ".join(faults) if len(faults) == len(batch) else None

        try:
            answer = self.ask(
                prompt("enrich"),
                Definitions,
                {
                    "passages": rendered(self.passages, selection),
                    "techniques": "\n\n".join(self._described(n, t) for n, t in enumerate(batch, start=1)),
                    "remarks": "; ".join((remarks or {}).values()) or "(no earlier answer)",
                },
                about=", ".join(t.name for t in batch),
                check=check,
            )
        except AnswerError as error:
            if len(batch) == 1:
                return {batch[0].id: str(error)}
            outcomes: dict[str, Technique | str] = {t.id: "" for t in batch}
        else:
            outcomes = self._evaluate(batch, answer, selection)
        for technique in batch:
            fault = outcomes[technique.id]
            if isinstance(fault, str) and len(batch) > 1:
                outcomes |= self.answered([technique], {technique.id: fault})
        return outcomes

    def _evaluate(
        self, batch: Sequence[Technique], answer: Definitions, selection: _Selection
    ) -> dict[str, Technique | str]:
        by_number = {d.technique: d for d in reversed(answer.definitions)}
        defined = [t.definition for t in batch]
        return {t.id: self._improved(t, by_number.get(n), selection, defined) for n, t in enumerate(batch, start=1)}

    def _improved(
        self, technique: Technique, answer: Definition | None, selection: _Selection, defined: Sequence[str]
    ) -> Technique | str:
        """The technique with a new definition, or the definition's fault, in words for the model. Symbols of the other
        definitions in the question are allowed, too."""
        if answer is None:
            return "its definition is missing"
        text = answer.text.strip()
        if not text:
            return technique
        if len(text) > _LONGEST:
            return "its definition is too long: at most 8 sentences"
        if place := mangled(text):
            return f"its definition lost a backslash before {place!r}: in JSON each is written twice"
        if place := pointer(text):
            return f"its definition points to {place!r}: say it in the definition's own words"
        own = [technique.name, *technique.aliases, technique.definition]
        beside = [definition for definition in defined if definition != technique.definition]
        texts = {number: self._text(number, pieces) for number, pieces in selection.items()}
        known = [*own, *texts.values()]
        numbers = unsupported_numbers(text, known, self.passages.document.macros)
        symbols = [odd for odd in self._unsupported(text, [*known, *beside]) if odd not in numbers]
        if odd := [*numbers, *symbols]:
            return (
                f"{', '.join(odd)} stands neither in its present definition nor in the passages; take "
                "numbers and symbols from there, and use words for what the paper gives no symbol"
            )
        used = [number for number in dict.fromkeys(answer.passages) if number in selection]
        for odd_one in self._unsupported(text, [*own, *beside, *(texts[u] for u in used)]):
            used += [u for u in texts if u not in used and odd_one not in self._unsupported(text, [texts[u]])][:1]
        if not used:
            return "it names no passage: give the numbers of those that its definition draws on"
        new = self.passages.excerpts(sorted(used))
        previous = [e for e in technique.excerpts if not any(x.start <= e.start and e.end <= x.end for x in new)]
        excerpts = tuple(sorted([*previous, *new], key=lambda e: e.start))
        return technique.model_copy(update={"definition": text, "excerpts": excerpts})

    def _unsupported(self, text: str, sources: Sequence[str]) -> list[str]:
        document = self.passages.document
        return unsupported(text, sources, document.macros, marked="$" in document.text or "\\(" in document.text)

    def _select(self, batch: Sequence[Technique]) -> _Selection:
        """As many of the best chunks of each technique as there is room for, without duplicates, and the tables of
        settings, which retrieval seldom finds."""
        for top in range(TOP, 0, -1):
            if self._size(union := self._union(batch, top)) <= self.room:
                tables = {p.number: frozenset(range(len(p.pieces))) for p in self.passages.listed if p.settings}
                return both if self._size(both := {**union, **tables}) <= self.room else union
        union, remaining = self._union(batch, 1), self.room
        fitted: dict[int, frozenset[int]] = {}
        for number, pieces in union.items():
            fitting: list[int] = []
            for i in sorted(pieces):
                remaining -= len(self.passages[number].pieces[i].text)
                if remaining >= 0 or not (fitted or fitting):
                    fitting.append(i)
            if fitting:
                fitted[number] = frozenset(fitting)
        return fitted

    def _union(self, batch: Sequence[Technique], top: int) -> _Selection:
        found = {piece for t in batch for chunk in self.chunks[t.id][:top] for piece in chunk.pieces}
        # A chunk may end inside a condition or an algorithm, and half of one is another one.
        blocks = [
            self.passages[n] for n in {n for n, _ in found} if self.passages[n].kind in ("statement", "algorithm")
        ]
        pieces = sorted(found | {(each.number, i) for each in blocks for i in range(len(each.pieces))})
        return {number: frozenset(i for _, i in group) for number, group in groupby(pieces, key=lambda p: p[0])}

    def _size(self, selection: _Selection) -> int:
        return sum(len(self._text(number, pieces)) + 10 for number, pieces in selection.items())

    def _text(self, number: int, pieces: frozenset[int]) -> str:
        return " ".join(self.passages[number].pieces[i].text for i in sorted(pieces))

    def _described(self, n: int, technique: Technique) -> str:
        parent = next((t.name for t in self.techniques if t.id == technique.parent), None)
        children = [t.name for t in self.techniques if t.parent == technique.id]
        head = f"{n}. {technique.name}"
        if technique.aliases:
            head += f" ({', '.join(technique.aliases)})"
        if parent:
            head += f"; part of {parent}"
        if children:
            head += f"; its parts: {', '.join(children)}"
        return f"{head}\n{technique.definition}"
