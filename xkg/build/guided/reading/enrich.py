"""Stage 2 with a language model: definitions that can be implemented, and missing techniques.

One question covers all techniques of the paper. Each definition is checked separately: a technique with a faulty
definition is asked about again alone, and the question names the fault."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from xkg.build.code.codebase import Codebase
from xkg.build.guided.draft import prompt
from xkg.build.guided.reading.definition_check import foreign_numbers, mangled, pointer
from xkg.build.guided.reading.missing import Completed, with_missing
from xkg.build.guided.reading.paper_answer import Definition, Missing, PaperAnswer
from xkg.build.guided.reading.paper_text import text_about
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.guided.reading.public_code import PublicCode, public_code
from xkg.build.paper.document import Document
from xkg.embeddings.base import Embedder
from xkg.errors import AnswerError
from xkg.llm.client import Ask
from xkg.model import Technique

_LONGEST = 2_500  # characters of a definition


class Enriched(Completed):
    """`failed` maps the ids of techniques that keep their old definition to the reason."""

    failed: dict[str, str] = Field(default={})


def enrich_with_model(
    techniques: Sequence[Technique],
    document: Document,
    embedder: Embedder,
    ask: Ask,
    window: int = 128_000,
    codebase: Codebase | None = None,
) -> Enriched:
    """The techniques of a paper (parents first) with better definitions, and the techniques that were missing. Their
    excerpts are the previous ones and the newly cited passages. A question and its answer have at most `window` tokens.

    Raises `EmbeddingError`, and the errors of `ask` except `AnswerError`."""
    passages = read_passages(document)
    if not techniques or not passages.listed:
        return Enriched(techniques=tuple(techniques))
    code = public_code(codebase) if codebase is not None else []
    work = _Enrichment(techniques, passages, embedder, ask, window, code)
    outcomes = work.answered(techniques)
    better = [t if isinstance(o := outcomes[t.id], str) else o for t in techniques]
    completed = with_missing(better, work.missing, passages, code)
    failed = {t.id: o for t in techniques if isinstance(o := outcomes[t.id], str)}
    return Enriched(**completed.model_dump(), failed=failed)


@dataclass
class _Enrichment:
    techniques: Sequence[Technique]
    passages: Passages
    embedder: Embedder
    ask: Ask
    window: int
    code: Sequence[PublicCode]
    missing: Sequence[Missing] = ()

    def answered(self, batch: Sequence[Technique], remark: str = "") -> dict[str, Technique | str]:
        """Each technique's improved version, or the fault of its definition."""

        def check(answer: PaperAnswer) -> str | None:
            evaluated = self._evaluate(batch, answer)
            faults = [f"technique {n}: {o}" for n, o in enumerate(evaluated.values(), start=1) if isinstance(o, str)]
            return "; ".join(faults) if len(faults) == len(batch) else None

        inputs = {
            "paper": text_about(self.passages, self.window, batch, self.embedder),
            "techniques": "\n\n".join(self._described(n, t) for n, t in enumerate(batch, start=1)),
            "code": "\n".join(f"{n}. {each.text}" for n, each in enumerate(self.code, start=1)),
            "remarks": remark,
        }
        about = ", ".join(t.name for t in batch)
        try:
            answer = self.ask(prompt("enrich"), PaperAnswer, inputs, about=about, check=check)
        except AnswerError as error:
            outcomes: dict[str, Technique | str] = dict.fromkeys((t.id for t in batch), str(error))
        else:
            outcomes = self._evaluate(batch, answer)
            self.missing = self.missing or answer.missing
        for technique in batch if len(batch) > 1 else ():
            fault = outcomes[technique.id]
            if isinstance(fault, str):
                outcomes |= self.answered([technique], fault)
        return outcomes

    def _evaluate(self, batch: Sequence[Technique], answer: PaperAnswer) -> dict[str, Technique | str]:
        by_number = {d.technique: d for d in reversed(answer.definitions)}
        return {t.id: self._improved(t, by_number.get(n)) for n, t in enumerate(batch, start=1)}

    def _improved(self, technique: Technique, answer: Definition | None) -> Technique | str:
        """The technique with a new definition, or the definition's fault, in words for the model."""
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
        if odd := foreign_numbers(text, self.passages.document):
            return f"{', '.join(odd)} is nowhere in the paper: leave it out"
        used = sorted({number for number in answer.passages if number in self.passages})
        if not used:
            return "it names no passage: give the numbers of those that its definition draws on"
        new = self.passages.excerpts(used)
        previous = [e for e in technique.excerpts if not any(x.start <= e.start and e.end <= x.end for x in new)]
        excerpts = tuple(sorted([*previous, *new], key=lambda e: e.start))
        return technique.model_copy(update={"definition": text, "excerpts": excerpts})

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
