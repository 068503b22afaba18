"""Sections of a paper's source: to cut it before its experiments, or to the length that a model reads."""

import re
from dataclasses import dataclass

_HEADING = re.compile(
    r"^(?:\\(?P<command>(?:sub){0,2}section)\*?\{(?P<latex>[^{}\n]{0,300})\}"
    r"|(?P<marks>#{1,4}) (?P<markdown>[^\n]{0,300}))",
    re.M,
)
_NUMBER = re.compile(r"^(?:\d+|[A-Z])(?:\.\d+)*\.? ")


@dataclass(frozen=True)
class Section:
    """A heading without its number, its level from 1, and where its text begins and ends."""

    title: str
    level: int
    start: int
    end: int


def sections(text: str) -> list[Section]:
    """The sections in order; a subsection lies within the section before it, and has an end of its own."""
    found = []
    for match in _HEADING.finditer(text):
        if match["command"]:
            title = match["latex"]
            number = _NUMBER.match(title)
            # Converted papers have only \section, and the depth in the number.
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
    """The text before the section of that title (without its number, up to case). Raises `ValueError`."""
    for section in sections(text):
        if section.title.casefold() == title.casefold():
            return text[: section.start]
    raise ValueError(f"no section {title!r}: there are {', '.join(s.title for s in sections(text))[:500]}")


def shortened(text: str, characters: int) -> tuple[str, tuple[str, ...]]:
    """The text in at most so many characters, and the titles of the sections that were left out, the last top ones
    first; without sections, or where the rest is still too long, the end is cut off and named `the end`."""
    left_out: list[str] = []
    for section in reversed([s for s in sections(text) if s.level == 1]):
        if len(text) <= characters:
            break
        text = text[: section.start] + text[section.end :]
        left_out.append(section.title)
    if len(text) > characters:
        text = text[:characters]
        left_out.append("the end")
    return text, tuple(left_out)
