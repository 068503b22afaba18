"""Headings in any markup: the number that a heading carries, run-in headings, and the tree that headings make."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xkg.build.document import Section

_NUMBER = re.compile(
    r"(?:(?P<named>Appendix|Section|Chapter|Supplement(?:ary)?)\s+(?P<of>[A-Z]|\d{1,2})(?:\s*[.:—–-]+\s*|\s+|$)"
    r"|(?P<digits>\d{1,2}(?:\.\d{1,2})*)(?:[.:)]\s*|\s+)(?=\D|$)"
    r"|(?P<letter>[A-Z](?:\.\d{1,2})+)(?:[.:)]\s*|\s+)"
    r"|(?P<single>[A-Z])[.:)]\s+"
    r"|(?P<roman>(?:X{0,2}(?:IX|IV|V?I{1,3}|V)|X{1,2}))\.\s+)"
)
REFERENCES = re.compile(r"(?i)^(references|bibliography|literature cited|works cited|literature)\W*$")
_APPENDIX = re.compile(r"(?i)^(appendi(x|ces)|supplement(ary|al)?\b.*|technical appendi(x|ces))\W*$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as it was met. `title` is readable text with the number still in front, unless `number` has it."""

    title: str
    level: int
    start: int
    body_start: int
    number: str | None = None
    appendix: bool = False


def split_number(title: str) -> tuple[str | None, str]:
    """("3.1", "Algorithm") for "3.1. Algorithm"; (None, title) where a heading carries no number."""
    match = _NUMBER.match(title)
    if match is None:
        return None, title
    rest = title[match.end() :].strip()
    number = match["of"] or match["digits"] or match["letter"] or match["single"] or match["roman"]
    if not rest:
        return (number, title) if match["named"] else (None, title)
    return number, rest


def normalised(title: str) -> str:
    """Letters and digits only, folded: for comparing titles."""
    return " ".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", title).casefold()))


def is_references(title: str) -> bool:
    return bool(REFERENCES.match(split_number(title)[1].strip()))


def numbered(headings: Iterable[Heading]) -> list[Heading]:
    """The headings with number and title apart. A number of two parts is a subsection whatever the markup says, and
    headings without a number keep their distance to the numbered ones around them."""
    out: list[Heading] = []
    shift = 0
    in_appendix = False
    for heading in headings:
        number, title = (heading.number, heading.title) if heading.number else split_number(heading.title)
        level = heading.level
        if level < 4:
            if number is not None:
                depth = number.count(".") + 1
                shift = level - depth
                level = depth
            else:
                level = level - shift if shift > 0 else level
            letter = number is not None and number[0].isalpha() and not _is_roman(number, out)
            named = _APPENDIX.match(title) is not None
            in_appendix = in_appendix or heading.appendix or letter or named
            if any(is_references(h.title) for h in out[-1:]):
                in_appendix = True
        out.append(
            replace(
                heading,
                title=re.sub(r"(?<=[^\s.A-Z])\.$", "", title),
                number=number,
                level=min(max(level, 1), 4),
                appendix=heading.appendix or in_appendix,
            )
        )
    return out


def _is_roman(number: str, before: Sequence[Heading]) -> bool:
    if not re.fullmatch(r"[IVX]+", number):
        return False
    if number == "I":
        return all(h.number is None for h in before)
    return any(h.number in ("I", "V") for h in before if h.number)


def repeats_title(heading: str, title: str, *, once: bool = True) -> bool:
    """Whether a heading is the paper's title, or so much of its beginning that it must be."""
    whole, name = normalised(title), normalised(heading)
    return bool(name) and (name == whole or (whole.startswith(name + " ") and name.count(" ") >= (3 if once else 2)))


def without_running_heads(headings: Sequence[Heading], title: str) -> list[Heading]:
    """A page header that was taken for a heading: it repeats the title, or its beginning, without a number."""
    count: dict[str, int] = {}
    for heading in headings:
        count[normalised(heading.title)] = count.get(normalised(heading.title), 0) + 1

    def runs(heading: Heading) -> bool:
        return heading.level < 4 and repeats_title(heading.title, title, once=count[normalised(heading.title)] == 1)

    return [heading for heading in headings if not runs(heading)]


def tree(headings: Sequence[Heading], end: int) -> tuple[Section, ...]:
    """Sections nested by level, in order. `end` is where the last one ends."""
    ends: list[int] = [end] * len(headings)
    open_at: list[int] = []
    for index, heading in enumerate(headings):
        while open_at and headings[open_at[-1]].level >= heading.level:
            ends[open_at.pop()] = heading.start
        open_at.append(index)
    children: list[list[Section]] = [[] for _ in headings]
    top: list[Section] = []
    parents: list[int | None] = []
    open_at = []
    for index, heading in enumerate(headings):
        while open_at and headings[open_at[-1]].level >= heading.level:
            open_at.pop()
        parents.append(open_at[-1] if open_at else None)
        open_at.append(index)
    for index in range(len(headings) - 1, -1, -1):
        heading = headings[index]
        section = Section(
            title=heading.title,
            level=heading.level,
            start=heading.start,
            body_start=min(heading.body_start, ends[index]),
            end=ends[index],
            number=heading.number,
            appendix=heading.appendix,
            children=tuple(reversed(children[index])),
        )
        parent = parents[index]
        (top if parent is None else children[parent]).append(section)
    return tuple(reversed(top))
