"""Sections of a paper's source, to cut it before its experiments or to the length that a model reads."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xkg.build.techniques.section_roles import Role, role_of_title

_HEADING = re.compile(
    r"^(?:\\(?P<command>(?:sub){0,2}section)\*?\{(?P<latex>[^{}\n]{0,300})\}"
    r"|(?P<marks>#{1,4}) (?P<markdown>[^\n]{0,300}))",
    re.M,
)
_NUMBER = re.compile(r"^(?:\d+|[A-Z])(?:\.\d+)*\.? ")


_MOST_NEEDED = 4
_NEED: dict[Role | None, int] = {
    **dict.fromkeys((Role.RELATED, Role.BACKGROUND, Role.APPLICATION, Role.THEORY, Role.DETAILS), 1),
    **dict.fromkeys((Role.DISCUSSION, Role.CONCLUSION), 1),
    Role.INTRODUCTION: 2,
    Role.EXPERIMENTS: 3,
}
"""How important a section is for a plan of ablations, by its role. The method matters most; its title often does not
say so."""


@dataclass(frozen=True)
class Section:
    """A heading without its number, its level from 1, and the start and end of its text."""

    title: str
    level: int
    start: int
    end: int


def sections(text: str) -> list[Section]:
    """The sections in order. A subsection is within the section before it, and has its own end."""
    found = []
    for match in _HEADING.finditer(text):
        if match["command"]:
            title = match["latex"]
            number = _NUMBER.match(title)
            # Converted papers have only \section; the number gives the depth.
            depth = number[0].strip().strip(".").count(".") + 1 if number else 1
            level = max(depth, match["command"].count("sub") + 1)
        else:
            title, level = match["markdown"], len(match["marks"])
        found.append((_NUMBER.sub("", title).strip(), level, match.start()))
    ends = [len(text)] * len(found)
    still_open: list[int] = []
    for n, (_, level, start) in enumerate(found):
        while still_open and found[still_open[-1]][1] >= level:
            ends[still_open.pop()] = start
        still_open.append(n)
    return [Section(title, level, start, end) for (title, level, start), end in zip(found, ends, strict=True)]


def until(text: str, title: str) -> str:
    """The text before the section with that title (ignoring its number and case). Raises `ValueError`."""
    for section in sections(text):
        if section.title.casefold() == title.casefold():
            return text[: section.start]
    raise ValueError(f"no section {title!r}: there are {', '.join(s.title for s in sections(text))[:500]}")


def shortened(text: str, characters: int) -> tuple[str, tuple[str, ...]]:
    """The text cut to a maximum number of characters, and the titles of the omitted top-level sections. They are
    removed in this order: text after the references, related work and similar, the introduction, experiments, and
    finally the method; within each kind, the last first. Of the method, only the necessary amount is removed, from its
    end. If there are no sections or the rest is still too long, the end is cut off and named `the end`."""
    cuts: list[tuple[int, int]] = []
    titles: list[str] = []
    over = len(text) - characters
    parts = [section for section in sections(text) if section.level == 1]
    for need, section in sorted(zip(_needs(parts), parts, strict=True), key=lambda each: (each[0], -each[1].start)):
        if over <= 0:
            break
        partly = need == _MOST_NEEDED and section.end - section.start > over
        start = section.end - over if partly else section.start
        cuts.append((start, section.end))
        titles.append(f"the end of {section.title}" if partly else section.title)
        over -= section.end - start
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    if len(text) > characters:
        text = text[:characters]
        titles.append("the end")
    return text, tuple(titles)


def _needs(parts: Sequence[Section]) -> list[int]:
    back = next((part.start for part in parts if role_of_title(part.title) is Role.BACK), None)
    return [
        0 if back is not None and part.start >= back else _NEED.get(role_of_title(part.title), _MOST_NEEDED)
        for part in parts
    ]
