"""What of a paper goes into one prompt: all of its method, and of the rest what room there is for.

Sentences are taken by what their part is for and by how early in their paragraph they stand, until the room is full;
what is left out of a paragraph or between two is marked."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from xkg.build.guided.reading.passages import Passage, Passages
from xkg.build.techniques.section_roles import Part, Role

CUT = "[…]"
CHARACTERS = 4  # of a token, about
# For each role: how far its first sentence is from what matters most, and how much farther each next one of a
# paragraph. What the paper proposes stands in abstract, method and introduction; what it found, mostly in the first
# sentences of experiments and conclusion.
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
_FARTHEST = 3.5  # what lies beyond is left out even where there is room
_APART = {"text": 0.0, "algorithm": -0.5, "statement": 0.6, "table": 9.0}


def condensed(passages: Passages, room: int) -> str:
    """The paper in at most about `room` characters: title, headings, and numbered passages in reading order."""
    document = passages.document
    head = [f"Title: {document.title}"]
    if document.abstract and document.abstract_span is None:
        head.append(f"Abstract: {document.abstract[: room // 3]}")
    left = room - sum(map(len, head))
    chosen: dict[int, set[int]] = {}
    headed: set[int] = set()
    for passage, i in _by_distance(passages):
        above = [p for p in _path(passage.part) if id(p) not in headed]
        cost = len(passage.pieces[i].text) + 1 + (0 if passage.number in chosen else 10)
        cost += sum(len(p.title) + 6 for p in above)
        if cost > left:
            continue
        left -= cost
        headed.update(id(p) for p in above)
        chosen.setdefault(passage.number, set()).add(i)
    return "\n\n".join([*head, rendered(passages, chosen)])


def room(window: int, question: int, answer: int, most: int) -> int:
    """How many characters of a paper a prompt takes, at most `most`, where `window` tokens hold it, the question around
    it, and an answer; all but `window` as much as one would like. A small window is shared by halves."""
    return max(CHARACTERS, min(most, CHARACTERS * (window - question - min(answer, window // 2))))


def rendered(passages: Passages, chosen: Mapping[int, AbstractSet[int]]) -> str:
    """Passages as a prompt shows them, in reading order under their headings: of each, by number, the chosen pieces."""
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
    shown: list[str] = []
    for i, piece in enumerate(passage.pieces):
        if i in pieces:
            shown.append(piece.text)
        elif not shown or shown[-1] != CUT:
            shown.append(CUT)
    label = "" if passage.kind != "algorithm" else "Algorithm: "
    return f"[{passage.number}] {label}{' '.join(shown)}"


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
    ranked: list[tuple[float, int, int]] = []
    for passage in passages.listed:
        first, step = _DISTANCE[passage.role]
        nth = seen[id(passage.part)] = seen.get(id(passage.part), -1) + 1
        # The method is told to its end; of a long appendix or experiment the first paragraphs say what it is about.
        first += _APART[passage.kind] + (0.0 if passage.role in (Role.ABSTRACT, Role.METHOD) else 0.1 * nth)
        ranked += [(first + step * i, passage.number, i) for i in range(len(passage.pieces))]
    return [(passages[number], i) for distance, number, i in sorted(ranked) if distance <= _FARTHEST]
