"""Condenses a paper for one prompt: all of its method, and as much of the rest as there is room for.

Sentences are selected by the role of their part and by their position in the paragraph, until the room is full;
omissions are marked."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from xkg.build.guided.reading.cross_references import referenced
from xkg.build.guided.reading.passages import Kind, Passage, Passages
from xkg.build.techniques.section_roles import Part, Role

CUT = "[…]"
CHARACTERS = 4  # of a token, about
# For each role: the distance of a paragraph's first sentence (0 is most important) and the step to each next one.
# Proposals are in abstract, method and introduction; findings mostly in the first sentences of experiments and
# conclusion.
_DISTANCE = {
    Role.ABSTRACT: (0.0, 0.0),
    Role.METHOD: (1.0, 0.1),
    Role.APPLICATION: (1.5, 0.2),
    Role.INTRODUCTION: (1.6, 0.2),
    Role.BACKGROUND: (2.0, 0.2),
    Role.CONCLUSION: (2.0, 0.4),
    Role.DETAILS: (2.2, 0.3),
    Role.EXPERIMENTS: (2.6, 0.8),
    Role.THEORY: (2.8, 0.5),
    Role.DISCUSSION: (3.0, 1.0),
    Role.RELATED: (3.4, 1.2),
    Role.BACK: (4.0, 1.0),
}
_REFERRED = 0.9  # what the method refers to, at most
_FARTHEST = 3.5  # sentences beyond are omitted even where there is room
# Conditions, definitions and theorems define quantities of the method, also late in a part called "Results".
_STATED = 3.4
_PROOF = re.compile(r"\s*+(?:Proof|Sketch)\b", re.IGNORECASE)
_APART: Mapping[Kind, float] = {
    "text": 0.0, "algorithm": -0.5, "statement": 0.6, "caption": 0.8, "footnote": 1.0, "float": 1.0, "listing": 1.4,
    "table": 1.4,
}  # fmt: skip


def condensed(passages: Passages, room: int) -> str:
    """The paper in at most about `room` characters: title, headings, and numbered passages in reading order."""
    document = passages.document
    head = [f"Title: {document.title}"]
    if document.abstract and document.abstract_span is None:
        head.append(f"Abstract: {document.abstract[: room // 3]}")
    remaining = room - sum(map(len, head))
    chosen: dict[int, set[int]] = {}
    headed: set[int] = set()
    whole: set[int] = set()
    for passage, i in _by_distance(passages):
        if passage.kind == "statement":  # whole, or not at all: half of a condition is another one
            if i == 0 and len(passage.text) + 10 <= remaining:
                whole.add(passage.number)
            if passage.number not in whole:
                continue
        above = [p for p in _path(passage.part) if id(p) not in headed]
        cost = len(passage.pieces[i].text) + 1 + (0 if passage.number in chosen else 10)
        cost += sum(len(p.title) + 6 for p in above)
        if cost > remaining:
            continue
        remaining -= cost
        headed.update(id(p) for p in above)
        chosen.setdefault(passage.number, set()).add(i)
    return "\n\n".join([*head, rendered(passages, chosen)])


def room(window: int, question: int, answer: int, most: int) -> int:
    """The characters of a paper in a prompt, at most `most`, where `window` tokens hold paper, `question` and `answer`.
    In a small window the answer gets at most half."""
    return max(CHARACTERS, min(most, CHARACTERS * (window - question - min(answer, window // 2))))


def rendered(passages: Passages, chosen: Mapping[int, AbstractSet[int]]) -> str:
    """The chosen pieces (passage number → pieces) as text for a prompt, in reading order under their headings."""
    out: list[str] = []
    before: Part | None = None
    last = 0
    for number in sorted(chosen):
        passage = passages[number]
        if last and number > last + 1 and passage.part is before:
            out.append(CUT)
        out += [*_headings(passage.part, before), _numbered(passage, chosen[number])]
        before, last = passage.part, number
    return "\n\n".join(out)


def _numbered(passage: Passage, pieces: AbstractSet[int]) -> str:
    texts: list[str] = []
    for i, piece in enumerate(passage.pieces):
        if i in pieces:
            texts.append(piece.text)
        elif not texts or texts[-1] != CUT:
            texts.append(CUT)
    label = "Algorithm: " if passage.kind == "algorithm" and not passage.text.startswith("Algorithm ") else ""
    return f"[{passage.number}] {label}{' '.join(texts)}"


def _headings(part: Part | None, before: Part | None) -> list[str]:
    known = [id(p) for p in _path(before)]
    return [f"{'#' * min(4, p.level)} {p.title}" for p in _path(part) if id(p) not in known]


def _path(part: Part | None) -> list[Part]:
    out: list[Part] = []
    while part is not None:
        out.append(part)
        part = part.parent
    return out[::-1]


def _by_distance(passages: Passages) -> list[tuple[Passage, int]]:
    seen: dict[int, int] = {}
    of_method = [p.number for p in passages.listed if p.role is Role.METHOD]
    # "The algorithm is Algorithm 2", "the objective of Equation 7": what the method refers to is part of it.
    named = {n for place in referenced(of_method, passages) if len(place) == 1 for n in place}
    ranked: list[tuple[float, int, int]] = []
    for passage in passages.listed:
        first, step = _DISTANCE[passage.role]
        nth = seen[id(passage.part)] = seen.get(id(passage.part), -1) + 1
        # The method is included to its end; of other parts the first paragraphs matter most.
        first += _APART[passage.kind] + (0.0 if passage.role in (Role.ABSTRACT, Role.METHOD) else 0.1 * nth)
        if passage.number in named:
            first, step = min(first, _REFERRED), 0.0
        if passage.kind == "statement" and passage.role is not Role.BACK and not _PROOF.match(passage.text):
            first, step = min(first, _STATED), 0.0
        elif passage.kind == "statement":
            step = 0.0
        if passage.kind == "table":  # results last, settings before them
            first = _FARTHEST - (0.5 if passage.settings else 0.0)
        ranked += [(first + step * i, passage.number, i) for i in range(len(passage.pieces))]
    return [(passages[number], i) for distance, number, i in sorted(ranked) if distance <= _FARTHEST]
