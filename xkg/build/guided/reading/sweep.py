"""Asks once about what the definitions of a paper's techniques leave out, so that nothing is missing without a word."""

from collections.abc import Sequence
from typing import Literal

from xkg.build.guided.draft import prompt
from xkg.build.guided.reading.definition_check import mangled, pointer
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.guided.reading.symbols_in_text import unsupported_numbers
from xkg.build.guided.reading.uncovered import Uncovered, uncovered
from xkg.build.paper.document import Document
from xkg.build.techniques.names import words
from xkg.llm.client import AnswerType, Ask
from xkg.model import Technique, unique_slugs
from xkg.value import Value

_MOST_NEW = 5
_BEGINNING = 160
_LONGEST_REASON = 200


class Item(AnswerType):
    passage: int
    verdict: Literal["technique", "part", "outside"]
    of: int
    name: str
    text: str


class Swept(AnswerType):
    items: tuple[Item, ...]


class Sweep(Value):
    """The techniques of a paper with those that were missing, parents first; `outside` are procedures of the paper
    that are said to be no part of its method, hidden with the reason; `parts` counts the definitions that were
    completed, `passages` those that were asked about."""

    techniques: tuple[Technique, ...]
    outside: tuple[Technique, ...] = ()
    parts: int = 0
    passages: int = 0


def sweep_with_model(techniques: Sequence[Technique], document: Document, ask: Ask) -> Sweep:
    """One question, or none where the definitions cover the method. Raises as `ask` does."""
    passages = read_passages(document)
    found = uncovered(passages, techniques)
    if not found:
        return Sweep(techniques=tuple(techniques))
    inputs = {
        "techniques": "\n".join(f"{n}. {t.name}: {_beginning(t)}" for n, t in enumerate(techniques, start=1)),
        "passages": "\n".join(f"[{each.passage}] {each.text}" for each in found),
    }
    answer = ask(
        prompt("sweep"),
        Swept,
        inputs,
        about=document.title,
        check=lambda swept: _complaint(swept, found, len(techniques), passages),
    )
    return _applied(answer, techniques, passages, len(found))


def _beginning(technique: Technique) -> str:
    text = " ".join(technique.definition.split())
    return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING]}…"


def _complaint(answer: Swept, found: Sequence[Uncovered], techniques: int, passages: Passages) -> str | None:
    """What is wrong with an answer, in words for the model; None where nothing is."""
    asked = [each.passage for each in found]
    if sorted(item.passage for item in answer.items) != asked:
        return f"items: answer for each of the passages {', '.join(map(str, asked))} once"
    document = passages.document
    for item in answer.items:
        of = f"the item of passage {item.passage}"
        if item.verdict == "part" and not 1 <= item.of <= techniques:
            return f"{of}: give the number of the technique that it is a part of, 1 to {techniques}"
        if item.verdict == "technique" and not (item.text.strip() and words(item.name)):
            return f"{of}: a technique has a name and a definition"
        if item.verdict == "outside" and not item.text.strip():
            return f"{of}: say in a few words why it is not of the method"
        if item.verdict == "outside":
            continue
        if place := mangled(f"{item.name} {item.text}"):
            return f"{of} lost a backslash before {place!r}: in JSON each is written twice"
        if place := pointer(item.text):
            return f"{of} points to {place!r}: say it in its own words"
        if odd := unsupported_numbers(item.text, [document.title, document.abstract, document.text], document.macros):
            return f"{of} has {', '.join(odd)}, which stands nowhere in the paper"
    return None


def _applied(answer: Swept, techniques: Sequence[Technique], passages: Passages, count: int) -> Sweep:
    changed: dict[str, Technique] = {t.id: t for t in techniques}
    ids = [t.id for t in techniques]
    known = {tuple(words(name)) for t in techniques for name in (t.name, *t.aliases)}
    new: list[Technique] = []
    outside: list[Technique] = []
    parts = 0
    for item in answer.items:
        excerpts = passages.excerpts([item.passage])
        above = changed[ids[item.of - 1]] if 1 <= item.of <= len(ids) else None
        name = " ".join(item.name.split())
        if item.verdict == "part" and above is not None:
            text = " ".join(item.text.split())
            parts += bool(text)
            both = sorted(dict.fromkeys([*above.excerpts, *excerpts]), key=lambda e: e.start)
            definition = f"{above.definition} {text}".strip()
            changed[above.id] = above.model_copy(update={"definition": definition, "excerpts": tuple(both)})
        elif words(name) and tuple(words(name)) not in known and item.verdict != "part":
            known.add(tuple(words(name)))
            parent = above if item.verdict == "technique" else None
            made = Technique(
                id="",
                name=name,
                parent=parent.id if parent else ids[0],
                definition=" ".join(item.text.split()) if item.verdict == "technique" else "",
                excerpts=excerpts,
            )
            if item.verdict == "technique" and len(new) < _MOST_NEW:
                new.append(made)
            elif item.verdict == "outside":
                why = " ".join(item.text.split())[:_LONGEST_REASON]
                outside.append(made.model_copy(update={"hidden": f"not part of the paper's method: {why}"}))
    every = _placed(list(changed.values()), [*new, *outside])
    shown = [t for t in every if t.hidden is None]
    return Sweep(techniques=tuple(shown), outside=tuple(t for t in every if t.hidden), parts=parts, passages=count)


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
