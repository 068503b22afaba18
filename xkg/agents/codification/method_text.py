"""Extracts a paper's method as prompt text: the method sections in order, up to a maximum size."""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import NamedTuple

from xkg.build.guided.reading.passages import Passage, Passages, read_passages
from xkg.build.paper.document import Document
from xkg.build.techniques.section_roles import Part, Role
from xkg.model import Excerpt
from xkg.text.unicode import printable_line

MOST_CHARACTERS = 32_000
"""The maximum length of the text (about 8,000 tokens). The text is limited because every prompt in a run includes
it."""

_SETTINGS = re.compile(
    r"\bhyper-?parameters?\b|\bimplementations?\b|\btraining details\b|\bsettings?$|\bset-?up$|\bconfigurations?\b",
    re.IGNORECASE,
)
_RANKS = {Role.METHOD: 0, Role.APPLICATION: 0, Role.ABSTRACT: 1, Role.DETAILS: 2, Role.BACKGROUND: 3}
_SETTINGS_RANK = 2


class MethodText(NamedTuple):
    """The text of a method. `left_out` lists missing or truncated sections in the paper's order."""

    text: str
    left_out: tuple[str, ...]

    def note(self) -> str | None:
        """Returns a note on omitted parts of the method, or None if the text is complete."""
        if not self.left_out:
            return None
        titles = ", ".join(map(printable_line, self.left_out))
        return f"{len(self.left_out)} sections of the paper did not fit into the method's text: {titles[:400]}"


class _Own(NamedTuple):
    """A part's own text, excluding its children. The method itself has `rank` 0."""

    part: Part
    rank: int
    passages: tuple[Passage, ...]


def method_text(document: Document, most: int = MOST_CHARACTERS, excerpts: Sequence[Excerpt] = ()) -> MethodText | None:
    """Returns the method sections with their equations, algorithms, statements and settings tables. If there are
    `excerpts`, only sections with an excerpt are method sections. Adds the abstract, details, settings and background
    if they fit. Never includes experimental results. Returns None if the paper has no method section."""
    read = read_passages(document)
    owned = list(_owned(read, _holding(read, excerpts) if excerpts else None))
    if not any(each.rank == 0 and each.passages for each in owned):
        return None
    room = most
    chosen: dict[int, tuple[Passage, ...]] = {}
    for each in sorted(owned, key=lambda each: each.rank):
        sizes = accumulate(map(_size, each.passages), initial=len(each.part.title) + 9)
        fitting = tuple(passage for passage, size in zip(each.passages, list(sizes)[1:], strict=True) if size <= room)
        chosen[id(each.part)] = fitting
        room -= sum(map(_size, fitting)) + len(each.part.title) + 9
    return _rendered(document, owned, chosen)


def _owned(read: Passages, method: AbstractSet[int] | None) -> Iterator[_Own]:
    """Yields the candidate parts in the paper's order. `method` contains the ids of the parts that form the method."""
    by_part: dict[int, list[Passage]] = {}
    for passage in read.listed:
        if passage.part is not None and (passage.kind != "table" or passage.settings):
            by_part.setdefault(id(passage.part), []).append(passage)
    for top in read.parts:
        for part in top.walk():
            own = tuple(by_part.get(id(part), ()))
            rank = _RANKS.get(part.role)
            if rank is None and (_SETTINGS.search(part.title) or any(passage.settings for passage in own)):
                rank = _SETTINGS_RANK
            if method is not None:
                rank = 0 if id(part) in method else rank or None
            if own and rank is not None:
                yield _Own(part, rank, own)


def _holding(read: Passages, excerpts: Sequence[Excerpt]) -> frozenset[int]:
    return frozenset(id(read[number].part) for number in read.at(excerpts) if read[number].part is not None)


def _rendered(document: Document, owned: Sequence[_Own], chosen: Mapping[int, Sequence[Passage]]) -> MethodText:
    blocks, left_out = [f"# {document.title}"], []
    headed: set[int] = set()
    for each in owned:
        passages = chosen[id(each.part)]
        path = [each.part]
        while path[0].parent is not None:
            path.insert(0, path[0].parent)
        for part in path:
            if id(part) not in headed and passages:
                blocks.append(f"{'#' * min(6, part.level + 1)} {part.title}")
                headed.add(id(part))
        blocks += map(_text, passages)
        if len(passages) < len(each.passages):
            left_out.append(f"{'the rest of ' * bool(passages)}{each.part.title}")
            blocks.append(f"[left out here: {left_out[-1]}]")
    return MethodText("\n\n".join(blocks), tuple(left_out))


def _text(passage: Passage) -> str:
    label = "Algorithm: " if passage.kind == "algorithm" and not passage.text.startswith("Algorithm ") else ""
    return f"{label}{passage.text}"


def _size(passage: Passage) -> int:
    return len(_text(passage)) + 2
