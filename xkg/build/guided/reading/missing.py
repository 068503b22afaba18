"""Adds techniques that an answer reports as missing."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from xkg.build.guided.reading.definition_check import foreign_numbers, mangled, pointer
from xkg.build.guided.reading.paper_answer import Missing
from xkg.build.guided.reading.passages import Passages
from xkg.build.guided.reading.public_code import PublicCode
from xkg.build.techniques.names import words
from xkg.model import Excerpt, Technique, unique_slugs
from xkg.value import Value

_MOST_NEW = 5
_LONGEST_REASON = 200


class Completed(Value):
    """The techniques of a paper and those that were missing, parents first. `outside` are procedures that do not belong
    to the paper's method; they are hidden with the reason. `parts` counts the definitions that were completed. `places`
    maps techniques to functions and classes (ids) that implement all or part of them. `nothing_in` are the ids of the
    other listed code."""

    techniques: tuple[Technique, ...]
    outside: tuple[Technique, ...] = ()
    parts: int = 0
    places: Mapping[str, tuple[str, ...]] = Field(default={})
    nothing_in: tuple[str, ...] = ()


def with_missing(
    techniques: Sequence[Technique], missing: Sequence[Missing], passages: Passages, code: Sequence[PublicCode]
) -> Completed:
    """The techniques completed by the valid entries of an answer; invalid entries are skipped. `code` gives the meaning
    of the numbers in the entries."""
    named = [(entry, [code[n - 1].symbol for n in entry.code if 0 < n <= len(code)]) for entry in missing]
    held = [(entry, symbols) for entry, symbols in named if _holds(entry, symbols, len(techniques), passages)]
    used = {symbol for _, symbols in held for symbol in symbols}
    nothing_in = tuple(each.symbol for each in code if each.symbol not in used)
    if not (held and techniques):
        return Completed(techniques=tuple(techniques), nothing_in=nothing_in)
    applied = _Applied(techniques, passages)
    for entry, symbols in held:
        applied.add(entry, symbols)
    return applied.result().model_copy(update={"nothing_in": nothing_in})


def _holds(entry: Missing, code: Sequence[str], techniques: int, passages: Passages) -> bool:
    """Whether an entry is complete, can be understood without the paper, and adds nothing that the paper lacks."""
    if entry.verdict == "part":
        return 0 < entry.of <= techniques and _is_clean(entry, passages) and bool(code or entry.text.strip())
    if not (entry.text.strip() and words(entry.name)):
        return False
    has_source = bool(code) or any(n in passages for n in entry.passages)
    return entry.verdict == "outside" or (has_source and _is_clean(entry, passages))


def _is_clean(entry: Missing, passages: Passages) -> bool:
    text = f"{entry.name} {entry.text}"
    return not (mangled(text) or pointer(entry.text) or foreign_numbers(entry.text, passages.document))


class _Applied:
    """Applies the entries of an answer to the techniques, in order. Several entries may be about one technique."""

    def __init__(self, techniques: Sequence[Technique], passages: Passages) -> None:
        self._passages = passages
        self._ids = [t.id for t in techniques]
        self._changed = {t.id: t for t in techniques}
        self._known = {tuple(words(name)): t.id for t in techniques for name in (t.name, *t.aliases)}
        self._new: dict[tuple[str, ...], Technique] = {}
        self._places: dict[tuple[str, ...], list[str]] = {}
        self._parts = 0

    def add(self, item: Missing, code: Sequence[str]) -> None:
        excerpts = self._passages.excerpts(sorted({n for n in item.passages if n in self._passages}))
        name = " ".join(item.name.split())
        key = tuple(words(name))
        text = " ".join(item.text.split())
        above = self._changed[self._ids[item.of - 1]] if 1 <= item.of <= len(self._ids) else None
        if item.verdict == "part" or (item.verdict == "technique" and key in self._known):
            identity = self._known.get(key) or (above.id if above else None)
            if identity is not None:
                self._complete(self._changed[identity], text if item.verdict == "part" else "", excerpts)
                self._place((identity,), code)
        elif key and key not in self._known:
            self._place(key, code)
            if (before := self._new.get(key)) is not None:
                both = sorted({*before.excerpts, *excerpts}, key=lambda e: e.start)
                self._new[key] = before.model_copy(update={"excerpts": tuple(both)})
                return
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

    def result(self) -> Completed:
        added = [self._with_place(key, t) for key, t in self._new.items()]
        every = _placed(list(self._changed.values()), added)
        ids = {tuple(words(t.name)): t.id for t in every if t.id not in self._changed}
        places = {ids.get(key, key[0]): tuple(dict.fromkeys(symbols)) for key, symbols in self._places.items()}
        shown = tuple(t for t in every if t.hidden is None)
        return Completed(
            techniques=shown,
            outside=tuple(t for t in every if t.hidden),
            parts=self._parts,
            places={each.id: places[each.id] for each in shown if each.id in places},
        )

    def _complete(self, technique: Technique, text: str, excerpts: Sequence[Excerpt]) -> None:
        self._parts += bool(text)
        both = sorted(dict.fromkeys([*technique.excerpts, *excerpts]), key=lambda e: e.start)
        definition = f"{technique.definition} {text}".strip()
        self._changed[technique.id] = technique.model_copy(update={"definition": definition, "excerpts": tuple(both)})

    def _place(self, key: tuple[str, ...], code: Sequence[str]) -> None:
        if code:
            self._places.setdefault(key, []).extend(code)

    def _with_place(self, key: tuple[str, ...], technique: Technique) -> Technique:
        """A hidden technique, with its places in the repository added to the reason."""
        if technique.hidden is None or not (symbols := self._places.get(key)):
            return technique
        places = ", ".join(symbol.partition(":")[2].partition(":")[2] for symbol in symbols)
        return technique.model_copy(update={"hidden": f"{technique.hidden} (in the repository: {places})"})


def _placed(techniques: Sequence[Technique], added: Sequence[Technique]) -> list[Technique]:
    """All techniques in preorder, the added ones last among their siblings, with ids, depths, and weights that sum to
    1."""
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
    """The techniques in preorder: each comes right after its parent and before its parent's next sibling."""
    below: dict[str | None, list[Technique]] = {}
    for technique in techniques:
        below.setdefault(technique.parent, []).append(technique)
    out: list[Technique] = []
    ahead = list(reversed(below.get(None, [])))
    while ahead:
        out.append(ahead.pop())
        ahead += reversed(below.get(out[-1].id, []))
    return tuple(out)
